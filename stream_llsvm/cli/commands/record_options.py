"""The options of every command that reads records: which fields are what, how values are read."""

from __future__ import annotations

from typing import Annotated

from typer import Option

Ignore = Annotated[list[str] | None, Option(help="Columns that are no features: a,b.")]
Features = Annotated[list[str] | None, Option(help="The only columns that are features: a,b.")]
Names = Annotated[
    list[str] | None, Option(help="The fields, if the records do not name them: a,b,y.")
]
Delimiter = Annotated[
    str | None, Option(help="CSV: what stands between two fields, if no comma; tab for a tab.")
]
Encoding = Annotated[str | None, Option(help="Of a file, if not utf-8: latin-1, utf-16, ...")]
Missing = Annotated[
    list[str] | None,
    Option(help="What stands for a missing value, instead of NA,N/A,null,None,nan,?,-"),
]
Decimal = Annotated[str | None, Option(help="What stands before decimals in text: . or ,")]
OnBadField = Annotated[
    str | None,
    Option(help="What becomes of a value that cannot be read: missing (usual), or reject."),
]
