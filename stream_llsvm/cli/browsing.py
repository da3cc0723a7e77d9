"""Open a page in the user's browser, where there is one."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_page(address: str) -> bool:
    """Ask for the page to be opened; return whether there is a browser to ask.

    Nothing that goes wrong with it matters: the address has been printed.
    """
    if sys.platform not in ("darwin", "win32") and not any(map(os.environ.get, _DISPLAYS)):
        return False  # what would be found is a browser for the terminal, which is taken
    threading.Thread(target=_open, args=(address,), name="browser", daemon=True).start()
    return True


def _open(address: str) -> None:
    try:
        webbrowser.open(address)
    except Exception as error:  # of whatever is installed
        print(f"stream-llsvm: no browser could be opened: {error}", file=sys.stderr, flush=True)
