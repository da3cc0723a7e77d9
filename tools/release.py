"""Build and check a release, and make its tag: ``make release``. Nothing is uploaded.

CONTRIBUTING.md says what comes before. The tag is made last: if anything is wrong there is none.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def mistakes(root: Path) -> list[str]:
    """Return what must be mended before this tree can be released."""
    version, found = version_of(root), other_versions(root)
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## [{version}] - YEAR-MONTH-DAY'")
    if _git(root, "status", "--porcelain"):
        found.append("there are changes that are not committed: git status")
    if _git(root, "tag", "--list", f"v{version}"):
        found.append(f"there is a tag v{version}: raise stream_llsvm/version.py")
    return found


def other_versions(root: Path) -> list[str]:
    """Return which files name another version than the package has."""
    version, found = version_of(root), []
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version}\n" not in citation:
        found.append(f"CITATION.cff has another version than stream_llsvm/version.py ({version})")
    for path in [*sorted(root.glob("docs/**/*.md")), *sorted(root.glob("deploy/**/*.yaml"))]:
        tags = set(re.findall(r"stream-llsvm:(\d[\w.]*)", path.read_text(encoding="utf-8")))
        if tags - {version}:
            told = ", ".join(sorted(tags))
            found.append(f"{path.relative_to(root)} names an image of another version: {told}")
    return found


def version_of(root: Path) -> str:
    """Return the version that the package says of itself."""
    text = (root / "stream_llsvm" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    """Check, build, try, and tag."""
    found = mistakes(ROOT)
    if found:
        raise SystemExit("no release:\n" + "\n".join(f"- {one}" for one in found))
    shutil.rmtree(DIST, ignore_errors=True)
    for command in (
        ["-m", "build", "--outdir", DIST, ROOT],
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_installation.py"],
    ):
        if subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode:
            raise SystemExit("no release: see above")
    tag = f"v{version_of(ROOT)}"
    _git(ROOT, "tag", "--annotate", tag, "--message", f"Release {tag}")
    names = ", ".join(sorted(one.name for one in DIST.iterdir()))
    print(f"tagged {tag}; in dist: {names}. Nothing was uploaded.")


if __name__ == "__main__":
    main()
