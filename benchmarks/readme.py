"""Copy tables from RESULTS.md into the pages that show them, so that no figure is typed by hand."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Of each page, what stands between which markers: sections of RESULTS.md, and what is said above
# the first table of each.
PAGES: dict[str, dict[str, dict[str, str]]] = {
    "README.md": {
        "measured": {
            "summary": (
                "Accuracy in %, one pass, every record predicted before it is learned, defaults:"
            ),
        },
    },
    "docs/choosing.md": {
        "family": {"family": "Accuracy in %, one pass over at most 10,000 records, defaults:"},
    },
    "docs/scale.md": {
        "readers": {
            "readers": (
                "Accuracy in % of one who learns every record, and points that readers lose whose "
                "model is renewed each so many records:"
            )
        },
    },
    "docs/deployment.md": {
        "size": {"size": "One process with its page and checkpoints, 20,000 records, defaults:"},
    },
    "docs/committee.md": {
        "ablation": {
            "ablation": "Accuracy in %, mean log loss in nats, microseconds per record in blocks:"
        },
    },
}


def section_of(document: str, name: str) -> re.Match[str] | None:
    """Find what stands between a section's markers."""
    return re.search(f"(?<=<!-- begin {name} -->\n).*?(?=<!-- end {name} -->)", document, re.DOTALL)


def first_table(text: str) -> str:
    """Return the first table of a section."""
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    if table is None:
        raise SystemExit(f"a section of RESULTS.md has no table: {text[:80]!r}")
    return table.group(0)


def tables(results: str, page: str, shown: Mapping[str, str]) -> str:
    """Return the tables of these sections, those that there are; tells of the others."""
    parts = []
    for name, said in shown.items():
        found = section_of(results, name)
        if found is None:
            print(f"{page}: skipped {name}, which RESULTS.md does not have yet", file=sys.stderr)
        else:
            parts.append(f"{said}\n\n{first_table(found.group(0))}")
    return "\n".join(parts)


def filled(document: str, results: str, page: str) -> str:
    """Return a page with its markers filled in; as it was if nothing is there."""
    for marker, shown in PAGES[page].items():
        place = section_of(document, marker)
        if place is None:
            raise SystemExit(f"{page} has no markers <!-- begin {marker} --> and end {marker}")
        new = tables(results, page, shown) or place.group(0)
        document = document[: place.start()] + new + document[place.end() :]
    return document


def fill_in() -> None:
    """Fill in every page."""
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    for page in PAGES:
        path = ROOT / page
        path.write_text(filled(path.read_text(encoding="utf-8"), results, page), encoding="utf-8")


if __name__ == "__main__":
    fill_in()
