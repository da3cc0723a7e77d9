"""Run a story of examples/, and draw what it shows."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from PIL import Image

from tests.cli.support import ROOT

LARGEST = 60_000  # bytes
WIDTH = 800


class Story:
    """What a script of examples/ defines, and what it tells."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.script = runpy.run_path(str(ROOT / "examples" / name / "story.py"))
        self.told: Any = self.script["tell"]()

    def check_pictures(self, folder: Path) -> None:
        """Draw the picture; look whether the page shows one that is small."""
        drawn = folder / f"story_{self.name}.png"
        self.script["draw"](self.told, drawn)
        kept = ROOT / "docs" / "pictures" / drawn.name
        page = (ROOT / "docs" / "examples" / f"{self.name}.md").read_text(encoding="utf-8")
        assert f"(../pictures/{kept.name})" in page
        for path in (drawn, kept):
            assert path.stat().st_size < LARGEST
            with Image.open(path) as shown:
                assert (shown.format, shown.width) == ("PNG", WIDTH)
