"""What the command line needs to know of logs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stream_llsvm.connectors.keys import SWITCH, Key
from stream_llsvm.connectors.registry import Connector

if TYPE_CHECKING:
    from stream_llsvm.connectors.base import Position, Source


class LogConnector(Connector):
    """What a server has acknowledged: ``server-log:folder``."""

    title = "a server's log"
    example = "server-log:folder"
    source_options: ClassVar[Mapping[str, Key]] = {
        "follow": Key(SWITCH, "--follow", "Wait for more at the end, like tail."),
    }

    def check_source(self, addresses: Sequence[str]) -> None:
        """Raise ValueError unless it is one address, with a folder."""
        if len(addresses) > 1 or not folder_of(addresses[0]):
            raise ValueError(
                f"{addresses[0]}: write one folder, as in server-log:served/default/log"
            )

    def source(self, addresses: Sequence[str], options: Mapping[str, Any]) -> Source:
        """Return the records of a log."""
        from stream_llsvm.connectors.log.source import LogSource

        return LogSource(folder_of(addresses[0]), **options)

    def places(self, address: str) -> set[str]:
        """Return the folder."""
        return {os.path.realpath(folder_of(address))}

    def describe(self, position: Position) -> str | None:
        """Return before which entry."""
        return f"before entry {position['log']:,} of a log" if set(position) == {"log"} else None


def folder_of(address: str) -> str:
    """Return the folder of an address.

    Examples
    --------
    >>> folder_of("server-log:served/default/log"), folder_of("server-log:///var/log")
    ('served/default/log', '/var/log')

    """
    return address.partition(":")[2].removeprefix("//")
