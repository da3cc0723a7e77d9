"""What the command line needs to know of SQLite."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from stream_llsvm.connectors.keys import SWITCH, TEXT, Key
from stream_llsvm.connectors.registry import Connector

if TYPE_CHECKING:
    from stream_llsvm.connectors.base import Position, Source

_LOOKED_AT = 100


class SqliteConnector(Connector):
    """A table of a database: ``sqlite:path``, and ``--table`` if there are several."""

    title = "SQLite"
    example = "sqlite:path"
    source_options: ClassVar[Mapping[str, Key]] = {
        "table": Key(TEXT, "--table", "SQLite: the table, if there are several."),
        "follow": Key(SWITCH, "--follow", "Wait for more at the end, like tail."),
    }

    def check_source(self, addresses: Sequence[str]) -> None:
        """Raise ValueError unless it is one address, with a path."""
        if len(addresses) > 1 or not path_of(addresses[0]):
            raise ValueError(f"{addresses[0]}: write one database, as in sqlite:weather.db")

    def source(self, addresses: Sequence[str], options: Mapping[str, Any]) -> Source:
        """Return the rows of a table."""
        from stream_llsvm.connectors.sqlite.source import SqliteSource

        return SqliteSource(path_of(addresses[0]), **options)

    def first_records(
        self, address: str, options: Mapping[str, Any]
    ) -> list[dict[str, Any]] | None:
        """Return the first rows."""
        from stream_llsvm.connectors.sqlite.source import SqliteSource

        path = path_of(address)
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        source = SqliteSource(path, options.get("table"), numeric=False)
        try:
            batch = source.poll(_LOOKED_AT, 0.0)
        finally:
            source.close()
        return [] if batch is None else [batch.record(i) for i in range(len(batch))]

    def places(self, address: str) -> set[str]:
        """Return the database."""
        return {os.path.realpath(path_of(address))}

    def describe(self, position: Position) -> str | None:
        """Return behind which row."""
        if set(position) != {"table", "row"}:
            return None
        return f"behind row {position['row']:,} of table {position['table']}"


def path_of(address: str) -> str:
    """Return the path of an address.

    Examples
    --------
    >>> path_of("sqlite:weather.db"), path_of("sqlite:///tmp/weather.db")
    ('weather.db', '/tmp/weather.db')

    """
    return address.partition(":")[2].removeprefix("//")
