"""Every classifier has its picture, and every picture that a page shows is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import stream_llsvm

ROOT = Path(__file__).resolve().parents[1]


def drawn() -> set[str]:
    """Return the classifiers of the pictures' script, which needs matplotlib to be imported."""
    tree = ast.parse((ROOT / "examples" / "family_pictures.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FAMILY":
            return set(ast.literal_eval(node.value))
    raise AssertionError("no FAMILY in examples/family_pictures.py")


def test_every_classifier_is_drawn() -> None:
    """But for contexts, which are for names, and keys, and what only decides by another one."""
    classifiers = {name for name in stream_llsvm.__all__ if name.endswith("Classifier")}
    assert drawn() == classifiers - {"ContextsClassifier", "KeyedClassifier", "DecidingClassifier"}


def test_every_picture_shown_is_there() -> None:
    shown = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).is_file(), f"{page.name} shows {target}"
            shown += 1
    assert shown >= len(list((ROOT / "docs" / "pictures").glob("*.png")))


def test_every_section_linked_in_the_results_is_there() -> None:
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.+)$", results, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for anchor in re.findall(r"RESULTS\.md#([\w-]+)\)", page.read_text(encoding="utf-8")):
            assert anchor in anchors, f"{page.name} links RESULTS.md#{anchor}"
