"""Flags of the commands, made of what `schema` declares."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, TypeVar

from typer import Argument, Option

from stream_llsvm.cli.errors import MistakeError
from stream_llsvm.cli.schema import SECTIONS
from stream_llsvm.connectors.keys import Key, Kind

_AFTER = "max_records"  # the flags that are made stand before it in --help

Command = TypeVar("Command", bound=Callable[..., Any])
Complete = Callable[[str], list[str]]

#: What may be said of a file by flags wherever one is read.
FILE_COLUMNS = frozenset(
    name
    for name, key in SECTIONS["source"].items()
    if key.flag and (not key.only or "file" in key.only) and name not in ("from", "follow")
)
DATA = Annotated[str, Argument(metavar="FILE", help="A file of records.")]
SAVED = Annotated[
    str, Argument(metavar="MODEL", help="A model file, a checkpoint or a folder of them.")
]
JSON = Annotated[bool, Option("--json", help="Print one JSON object at the end.")]
MAX_RECORDS = Annotated[
    int | None, Option(min=1, metavar="N", help="Stop after the first so many.")
]


def completing(choices: Callable[[], Iterable[str]], *, several: bool = False) -> Complete:
    """Return what completes a value for a shell: one of these, or several between commas.

    Examples
    --------
    >>> completing(lambda: ["sapl", "llsvm"], several=True)("llsvm,s")
    ['llsvm,sapl']

    """

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",") if several else ("", "", incomplete)
        return [f"{before}{comma}{one}" for one in choices() if one.startswith(begun)]

    return complete


def flags_of_pipeline() -> dict[str, Key]:
    """Return every flag that says something of a pipeline, in the order of its sections."""
    found: dict[str, Key] = {}
    for keys in SECTIONS.values():
        for key in keys.values():
            if key.flag:
                found.setdefault(key.flag, key)
    return found


def with_flags(flags: Mapping[str, Key]) -> Callable[[Command], Command]:
    """Give a command these flags; it takes their values as ``**given``, by their names.

    Parameters
    ----------
    flags
        The flags, as in ``--max-batch``, and what each means.

    """

    def decorated(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        known = [one.name for one in own]
        at = known.index(_AFTER) if _AFTER in known else len(own)
        made = [_parameter(flag, key) for flag, key in flags.items()]
        by_name = [one.replace(kind=one.KEYWORD_ONLY) for one in (*own[:at], *made, *own[at:])]
        command.__signature__ = signature.replace(parameters=by_name)  # type: ignore[attr-defined]
        return command

    return decorated


def columns(names: Collection[str] = FILE_COLUMNS, **helps: str) -> dict[str, Key]:
    """Return the flags that say how a file is read.

    Parameters
    ----------
    names
        The keys of ``[source]`` that a command takes.
    **helps
        What a key means to this command, if something else.

    """
    return {
        key.flag: key._replace(help=helps.get(name, key.help))
        for name, key in SECTIONS["source"].items()
        if name in names
    }


def columns_in(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of ``[source]`` that were given by flags, checked."""
    names = {key.flag: name for name, key in SECTIONS["source"].items() if key.flag}
    return {names[flag]: value for flag, value in checked(columns(names.values()), given).items()}


def checked(flags: Mapping[str, Key], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those of these flags that were given; MistakeError if one is wrong."""
    found: dict[str, Any] = {}
    for flag, value in values_of(flags, given).items():
        kind = flags[flag].kind
        try:
            if value is not None:
                found[flag] = kind.check(_variable(flag), kind.parse(value))
        except ValueError as error:
            raise MistakeError(f"{flag}: {error}") from None
    return found


def values_of(flags: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given for each of these flags, None where nothing was."""
    values = {flag: given.get(_variable(flag)) for flag in flags}
    return {flag: None if one is False or one == [] else one for flag, one in values.items()}


def _variable(flag: str) -> str:
    """Return the name of the parameter that holds a flag's value; ``from`` is a keyword.

    Examples
    --------
    >>> _variable("--max-batch"), _variable("--from")
    ('max_batch', 'from_')

    """
    return re.sub("^(from)$", r"\1_", flag.removeprefix("--").replace("-", "_"))


def _parameter(flag: str, key: Key) -> inspect.Parameter:
    kind: Kind = key.kind
    option = Option(
        flag,
        help=key.help,
        metavar=kind.metavar,
        autocompletion=completing(kind.choices),
    )
    absent = False if kind.type is bool else None
    of: Any = kind.type if kind.type is bool else kind.type | None
    annotation = Annotated[of, option]
    name = _variable(flag)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=absent, annotation=annotation
    )
