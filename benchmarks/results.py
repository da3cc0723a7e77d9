"""Tables in GitHub markdown, and the sections of RESULTS.md they are kept in."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import readme

RESULTS = Path(__file__).with_name("RESULTS.md")
LIBRARIES = ("stream_llsvm", "river", "numpy", "numba", "scikit-learn", "capymoa")
PREAMBLE = """\
# Results

Each section is written by the script named in it, run with `--write`; the command, the date, the
versions and the processor stand with the figures. Times depend on the machine: compare them within
a section, not between sections.
"""


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a GitHub markdown table; the first column is aligned left, the others right."""
    lines = [_line(header), _line(["---"] + ["---:"] * (len(header) - 1))]
    return "\n".join(lines + [_line([str(cell) for cell in row]) for row in rows])


def figure(value: float | None, digits: int = 1) -> str:
    """Return the number with that many decimals, or a dash where nothing was measured."""
    return "-" if value is None else f"{value:,.{digits}f}"


def publish(section: str, title: str, body: str, write: bool) -> None:
    """Print a section and, if asked to, put it in RESULTS.md in place of its older self.

    The pages that show tables of RESULTS.md then show the new ones.
    """
    text = f"## {title}\n\n{environment()}\n\n{body}"
    print(f"{text}\n")
    if write:
        old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else PREAMBLE
        RESULTS.write_text(replaced(old, section, text), encoding="utf-8")
        print(f"written to {RESULTS.name}, section {section}", file=sys.stderr)
        readme.fill_in()


def replaced(document: str, section: str, text: str) -> str:
    """Return the document with the section's text replaced, or added at the end."""
    begin, end = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    block = f"{begin}\n{text}\n{end}"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(document):
        # A function, because a plain replacement would read backslashes in the text as escapes.
        return pattern.sub(lambda _: block, document)
    return f"{document.rstrip()}\n\n{block}\n"


def environment() -> str:
    """Return the command, date, versions and processor that the figures belong to."""
    versions = [f"Python {platform.python_version()}"]
    for library in LIBRARIES:
        try:
            versions.append(f"{library} {importlib.metadata.version(library)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    today = dt.datetime.now(dt.UTC).date().isoformat()
    lines = [f"`{command()}`", f"{today}; {', '.join(versions)}"]
    return "  \n".join([*lines, f"{processor()}, {os.cpu_count()} logical cores"])


def command() -> str:
    """Return the command that is running, with the data folder written as DIR."""
    script, arguments = Path(sys.argv[0]), list(sys.argv[1:])
    for i, argument in enumerate(arguments):
        # Where the data lie is this machine's business; the rest can be repeated anywhere.
        if argument == "--data" and i + 1 < len(arguments):
            arguments[i + 1] = "DIR"
        elif argument.startswith("--data="):
            arguments[i] = "--data=DIR"
    return shlex.join(["python", f"{script.parent.name or 'benchmarks'}/{script.name}", *arguments])


def processor() -> str:
    """Return the processor's model name."""
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        info = ""
    found = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
