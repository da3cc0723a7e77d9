"""Connectors by scheme: what an address such as ``kafka://host:port/topic`` is read and written by.

The command line asks here for sources, sinks, dead letters, their options and their help, so it
knows of no system by itself. Other packages add connectors of theirs by an entry point of the group
``stream_llsvm.connectors``, whose name is the scheme and whose value is a class like `Connector`.
Classes are imported when the options of all are wanted; what a system needs, when it is used.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, ClassVar

from stream_llsvm.connectors.keys import COLUMN, COLUMNS, PAIRS, TEXT, WORDS, Key, one_of

if TYPE_CHECKING:  # numpy need not be there to show what options there are
    from stream_llsvm.connectors.base import (
        DeadLetters,
        Position,
        RecordWriter,
        Shared,
        Sink,
        Source,
    )

log = logging.getLogger("stream_llsvm.connectors")

GROUP = "stream_llsvm.connectors"
_PACKAGE = "stream_llsvm.connectors"
_OWN = {
    "file": f"{_PACKAGE}.file.connector:FileConnector",
    "kafka": f"{_PACKAGE}.kafka.connector:KafkaConnector",
    "server-log": f"{_PACKAGE}.log.connector:LogConnector",
    "sqlite": f"{_PACKAGE}.sqlite.connector:SqliteConnector",
}
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):")  # one letter is a drive of Windows

#: The options of every source: which fields are what, and how values are read.
FIELDS: Mapping[str, Key] = {
    "label": Key(COLUMN, "--label", "The column that is the label."),
    "key": Key(
        COLUMN, "--key", "The column to join late labels by, no feature; predictions have it."
    ),
    "weight": Key(COLUMN, "--weight", "The column that says how much a record counts (1)."),
    "ignore": Key(COLUMNS, "--ignore", "Columns that are no features: a,b."),
    "features": Key(COLUMNS, "--features", "The only columns that are features: a,b."),
    "fields": Key(
        PAIRS,
        "--field",
        "What a column is, if it is not to be seen from its values: user=name; or number, time, "
        "text, ignore.",
    ),
    "unwrap": Key(
        TEXT,
        "--unwrap",
        "JSON, msgpack: the object in which the record lies, as payload.after (Debezium).",
    ),
    "missing": Key(
        WORDS,
        "--missing",
        "What stands for a missing value, instead of NA,N/A,null,None,nan,?,-",
    ),
    "decimal": Key(one_of(".", ","), "--decimal", "What stands before decimals in text: . or ,"),
    "on_bad_field": Key(
        one_of("missing", "reject"),
        "--on-bad-field",
        "What becomes of a value that cannot be read: missing (usual), or reject.",
    ),
}


class Connector:
    """One system that records come from or go to; a class of yours fills in what it can do.

    Addresses are as users write them, options as their keys declare them, checked. What is wrong
    with either raises ValueError, and what is wrong with the system SourceError or SinkError: the
    text says on one line what to do.

    Attributes
    ----------
    title
        What people call it, as in "it is for Kafka only".
    example
        An address of it.
    source_options, sink_options, dead_letter_options
        The keys of ``[source]``, ``[sink]`` and ``[dead_letters]`` that it knows, beside `FIELDS`
        and ``from`` or ``to``.
    has_own_keys
        Whether records have a key to join late labels by, also if no field is it.
    needs
        Modules of optional packages that are imported when it is used.

    """

    title = ""
    example = ""
    source_options: ClassVar[Mapping[str, Key]] = {}
    sink_options: ClassVar[Mapping[str, Key]] = {}
    dead_letter_options: ClassVar[Mapping[str, Key]] = {}
    has_own_keys = False
    needs: ClassVar[Sequence[str]] = ()

    def check_source(self, addresses: Sequence[str]) -> None:
        """Raise ValueError if these addresses are not written as they must be."""

    def check_sink(self, address: str) -> None:
        """Raise ValueError if this address is not written as it must be."""

    def source(self, addresses: Sequence[str], options: Mapping[str, Any]) -> Source:
        """Return the records of these addresses, connected; with ``numeric=False``, as they are."""
        raise ValueError(f"{addresses[0]}: records cannot be read from {self.title}")

    def shared_source(
        self, addresses: Sequence[str], options: Mapping[str, Any], group: str
    ) -> Shared:
        """Return the records dealt out over all who name the same group, connected."""
        raise ValueError(f"{addresses[0]}: {self.title} has no groups (--group)")

    def sink(self, address: str, options: Mapping[str, Any]) -> Sink:
        """Return what takes results."""
        raise ValueError(f"{address}: results cannot be written to {self.title}")

    def dead_letters(self, address: str, options: Mapping[str, Any]) -> DeadLetters:
        """Return what takes rejected records."""
        raise ValueError(f"{address}: rejected records cannot be written to {self.title}")

    def check_shared(self, address: str, options: Mapping[str, Any]) -> None:
        """Raise ValueError if a sink cannot keep a former owner's results out."""
        raise ValueError(f"{address}: results that were written cannot be taken back")

    def shut_out(self, address: str, check: Callable[[], object]) -> None:
        """Keep a former owner, who may have it open still, from writing to this address.

        ``check`` raises if this process is no owner any more itself.
        """

    def writer(self, address: str) -> RecordWriter:
        """Return what takes records as bytes."""
        raise ValueError(f"{address}: records cannot be written to {self.title}")

    def first_records(
        self, address: str, options: Mapping[str, Any]
    ) -> list[dict[str, Any]] | None:
        """Return some records as they are, label and all; None if none can be looked at before.

        By them the names of columns are checked. Raises FileNotFoundError if there is no such file.
        """
        return None

    def has_own_labels(self, address: str, options: Mapping[str, Any]) -> bool:
        """Whether the format says where the label is, so that it needs no name."""
        return False

    def places(self, address: str) -> set[str]:
        """Return what is read or written, by names that are equal if they are one and the same."""
        return {address}

    def describe(self, position: Position) -> str | None:
        """Return in words where a source stands; None if the position is none of this system's."""
        return None


@cache
def _others() -> dict[str, EntryPoint]:
    """Return the entry points of other packages, by scheme."""
    return {one.name: one for one in entry_points(group=GROUP) if one.name not in _OWN}


def schemes() -> list[str]:
    """Return all schemes, this package's first."""
    return [*_OWN, *sorted(_others())]


@cache
def connector(scheme: str) -> Connector:
    """Return the connector of a scheme. Raises ValueError if it cannot be used.

    Examples
    --------
    >>> connector("kafka").example
    'kafka://host:port/topic'

    """
    if scheme in _OWN:
        module, _, name = _OWN[scheme].partition(":")
        found: Any = getattr(import_module(module), name)()
        assert isinstance(found, Connector)
        return found
    if scheme not in _others():
        known = ", ".join(connector(one).example for one in schemes() if one not in broken())
        raise ValueError(f"{scheme}:// is not known; write a path, or one of {known}")
    if scheme in broken():
        raise ValueError(f"{scheme}: the connector cannot be used: {broken()[scheme]}")
    return _loaded(_others()[scheme])


def _loaded(point: EntryPoint) -> Connector:
    found: Any = point.load()()
    if not isinstance(found, Connector):
        raise TypeError(f"{point.value} is no Connector")
    return found


@cache
def broken() -> dict[str, str]:
    """Return the schemes of other packages that cannot be used, and why, which is also logged."""
    found = {}
    for scheme, point in _others().items():
        try:
            _loaded(point)
        except Exception as error:  # somebody else's code: it must not stop those who do not use it
            found[scheme] = f"{point.value}: {type(error).__name__}: {error}"
            log.warning("the connector %s: cannot be used: %s", scheme, found[scheme])
    return found


def connectors() -> dict[str, Connector]:
    """Return all connectors that can be used, by scheme."""
    return {scheme: connector(scheme) for scheme in schemes() if scheme not in broken()}


def scheme_of(address: str) -> str:
    """Return the scheme of an address, in small letters; ``file`` if it is a path.

    Examples
    --------
    >>> scheme_of("KAFKA://a/b"), scheme_of("wind.csv"), scheme_of("at:12.csv"), scheme_of("s3://b")
    ('kafka', 'file', 'file', 's3')

    """
    match = _SCHEME.match(address)
    scheme = match[1].lower() if match else "file"
    known = scheme in _OWN or address[match.end() :].startswith("//") if match else True
    return scheme if known or scheme in _others() else "file"


def connector_of(address: str) -> Connector:
    """Return what reads and writes an address. Raises ValueError if nothing does."""
    return connector(scheme_of(address))


def describe(position: Position) -> str | None:
    """Return in words where a source stands; None if no connector knows."""
    for one in connectors().values():
        if text := one.describe(position):
            return text
    return None


def merged(common: Mapping[str, Key], kind: str) -> dict[str, Key]:
    """Return the keys of a section: those of all, and of each connector its own.

    Parameters
    ----------
    common
        What all know.
    kind
        ``"source"``, ``"sink"`` or ``"dead_letter"``.

    """
    found = dict(common)
    for scheme, one in connectors().items():
        options: Mapping[str, Key] = getattr(one, f"{kind}_options")
        for name, key in options.items():
            if name in common:
                raise ValueError(f"{scheme}: the option {name} means something to all connectors")
            first = found.get(name, key)
            found[name] = first._replace(only=(*first.only, scheme))
    return found
