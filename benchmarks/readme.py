"""Copy the README's tables from RESULTS.md, so that no figure there is typed by hand."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- begin measured -->", "<!-- end measured -->"
# Section of RESULTS.md, and what its first table says in the README.
SHOWN = {
    "accuracy": "Accuracy in %, one pass, every record predicted before it is learned, defaults:",
    "speed-dicts": "`predict_one` and `learn_one`, dicts of 22 numbers:",
    "speed-forest": "`test_then_learn`, the electricity stream:",
}


def first_table(results: str, section: str) -> str:
    """Return the first table of a section."""
    found = re.search(f"<!-- begin {section} -->(.*?)<!-- end {section} -->", results, re.DOTALL)
    if found is None:
        raise SystemExit(f"RESULTS.md has no section {section!r}: run its script with --write")
    table = re.search(r"(?:^\|.*\n)+", found.group(1), re.MULTILINE)
    if table is None:
        raise SystemExit(f"section {section!r} of RESULTS.md has no table")
    return table.group(0)


def main() -> None:
    """Replace what stands between the README's markers."""
    results = (HERE / "RESULTS.md").read_text(encoding="utf-8")
    parts = [f"{said}\n\n{first_table(results, section)}" for section, said in SHOWN.items()]
    path = HERE.parent / "README.md"
    head, rest = path.read_text(encoding="utf-8").split(BEGIN)
    tail = rest.split(END)[1]
    path.write_text(f"{head}{BEGIN}\n{chr(10).join(parts)}{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
