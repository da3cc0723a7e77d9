"""What each column was taken for, on a few lines; and what looks as if it was not meant."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping

from stream_llsvm.cli.checks import flag_of, is_number
from stream_llsvm.engine.census import Taken

_WIDTH = 96
_NO_BREAK = "\u00a0"
_MANY = 24  # columns of a kind that are shown
_INDENT = 10
_CLEAR = 0.99  # of a column's values are of one kind
_UNIQUE = 0.97  # of the records have a name that no other has, about
_FEW = 50  # records that say nothing yet
_TITLES = {
    "number": "numbers", "name": "names", "time": "times", "text": "texts", "missing": "empty",
}  # fmt: skip


def lines(fields: Mapping[str, Taken], ignored: Iterable[str] = ()) -> list[str]:
    """Return what the columns were taken for, a line or two for each kind.

    Parameters
    ----------
    fields
        What each was taken for.
    ignored
        Columns that are no features.

    Examples
    --------
    >>> for line in lines({"a": Taken({"number": 9}, 0), "b": Taken({"name": 9}, 3)}, ["id"]):
    ...     print(line)
    numbers   a
    names     b (3)
    ignored   id

    """
    found: dict[str, list[str]] = {}
    for name, taken in fields.items():
        found.setdefault(_TITLES[taken.usual], []).append(_shown(name, taken))
    if left_out := list(ignored):
        found["ignored"] = left_out
    order = [*_TITLES.values(), "ignored"]
    return [line for title in order if title in found for line in _wrapped(title, found[title])]


def _shown(name: str, taken: Taken) -> str:
    """Return a column's name, how many names it has, and what else is in it."""
    said = {kind: n for kind, n in taken.counts.items() if kind != "missing"}
    whole, usual = sum(said.values()), taken.usual
    more = [f"{'~' * taken.about}{taken.distinct:,}"] if usual == "name" else []
    if whole and said[usual] < _CLEAR * whole:
        shown = (kind for kind in said if kind != usual and said[kind] >= (1 - _CLEAR) * whole)
        others = sorted(shown, key=lambda kind: -said[kind])
        more += [f"{said[kind] / whole:.0%} {_TITLES[kind]}" for kind in others]
    return f"{name} ({', '.join(more)})" if more else name


def _wrapped(title: str, names: list[str]) -> list[str]:
    shown = names[:_MANY]
    if len(names) > _MANY:
        shown.append(f"and {len(names) - _MANY:,} more")
    # A blank inside a name, or before what is in brackets, does not end a line.
    whole = (name.replace(" ", _NO_BREAK) for name in shown)
    found = textwrap.wrap(
        ", ".join(whole),
        _WIDTH,
        initial_indent=title.ljust(_INDENT),
        subsequent_indent=" " * _INDENT,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(_NO_BREAK, " ") for line in found]


def doubts(fields: Mapping[str, Taken], declared: Collection[str] = ()) -> Iterator[str]:
    """Yield what looks as if it was not meant.

    Parameters
    ----------
    fields
        What each column was taken for.
    declared
        Columns of which was said what they are: these are no numbers by mistake.

    """
    for name, taken in fields.items():
        names = taken.counts.get("name", 0)
        if taken.usual != "name" or names < _FEW:
            continue
        if name not in declared and is_number(taken.example.replace(",", ".")):
            yield (
                f"column {name!r} holds names such as {taken.example!r}: if they are numbers, "
                "--decimal ,"
            )
        elif taken.distinct > _UNIQUE * names:
            yield (
                f"column {name!r} has another name in each record, which says nothing: "
                f"--ignore {flag_of([name])}"
            )
