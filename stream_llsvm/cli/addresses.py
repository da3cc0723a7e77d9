"""Addresses as users write them: of records, by their connectors, and of the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from stream_llsvm.cli.errors import MistakeError, one_line
from stream_llsvm.connectors.registry import Connector, connector_of

_Made = TypeVar("_Made")

_LAST_PORT = 65_535


def connector_for(address: str) -> Connector:
    """Return what reads and writes an address; MistakeError if nothing does."""
    return made(lambda: connector_of(address))


def made(make: Callable[[], _Made]) -> _Made:
    """Return what is made; what is wrong with what the user asked for is a MistakeError."""
    from stream_llsvm.connectors.base import SinkError, SourceError

    try:
        return make()
    except (OSError, ValueError, ImportError, SourceError, SinkError) as error:
        raise MistakeError(one_line(error)) from None


def host_and_port(address: str) -> tuple[str | None, int]:
    """Return the host, None if there is none, and the port of ``[HOST:]PORT``.

    Examples
    --------
    >>> host_and_port("8765"), host_and_port("0.0.0.0:80"), host_and_port("[::1]:80")
    ((None, 8765), ('0.0.0.0', 80), ('::1', 80))

    """
    host, found, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > _LAST_PORT or (found and not host):
        raise MistakeError(f"{address}: write a port, or a host and a port: localhost:8765")
    return host.removeprefix("[").removesuffix("]") or None, int(port)
