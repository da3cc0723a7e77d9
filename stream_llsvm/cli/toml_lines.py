"""On which line of a TOML file a key stands, which the parser of the standard library forgets."""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_LONG = ('"' * 3, "'" * 3)


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    r"""Return the line of each section, ``(section,)``, and of each key, ``(section, key)``.

    Examples
    --------
    >>> lines_of('[source]\nfrom = [\n  "a.csv",\n]\nlabel = "y"\n')
    {('source',): 1, ('source', 'from'): 2, ('source', 'label'): 5}

    """
    found: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    depth, quoted = 0, ""  # of brackets and braces that are open; the quotes that are
    for number, line in enumerate(text.splitlines(), 1):
        if not quoted and depth == 0:
            if header := _HEADER.fullmatch(line):
                section = _parts(header[1])
                for n in range(1, len(section) + 1):
                    found.setdefault(section[:n], number)
                continue
            if key := _KEY.match(line):
                path = section + _parts(key[1])
                for n in range(1, len(path) + 1):
                    found.setdefault(path[:n], number)
        for mark in _LONG:
            if quoted in ("", mark) and line.count(mark) % 2:
                quoted = "" if quoted else mark
        if not quoted:
            bare = _TEXT.sub("", line).partition("#")[0]
            depth += sum(map(bare.count, "[{")) - sum(map(bare.count, "]}"))
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
