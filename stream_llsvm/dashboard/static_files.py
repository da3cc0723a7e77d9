"""The files of the page, found once; nothing else can be asked for."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources
from typing import NamedTuple

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_INLINE = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.DOTALL)


class File(NamedTuple):
    """A file of the page."""

    content: bytes
    type: str
    tag: str


def static_files() -> dict[str, File]:
    """Return the page's files by name."""
    folder = resources.files("stream_llsvm.dashboard") / "static"
    found = {}
    for one in folder.iterdir() if folder.is_dir() else ():
        kind = _TYPES.get("." + one.name.rpartition(".")[2])
        if kind is not None and one.is_file():
            content = one.read_bytes()
            found[one.name] = File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    return found


def policy(index: bytes) -> str:
    r"""Return the page's content security policy: its own files, and the scripts inside it.

    Examples
    --------
    >>> "script-src 'self' 'sha256-" in policy(b'<script type="importmap">{}</script>')
    True
    >>> "unsafe" in policy(b"")
    False

    """
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
        for script in _INLINE.findall(index)
    ]
    return "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src 'self'", *hashes]),
            "style-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )
