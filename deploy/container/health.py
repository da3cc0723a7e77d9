"""Whether what runs in this container lives: the page or the server, at its usual port.

``HEALTHCHECK`` of the Dockerfile calls it. It exits with 0 if one of them says so.
"""

from __future__ import annotations

import http.client
import sys

PORTS = (8765, 8766)  # of `run --dashboard` and of `serve`
_TIMEOUT = 5.0


def alive(port: int) -> str:
    """Return what is wrong, nothing if all is well."""
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
    try:
        asked.request("GET", "/healthz")
        answer = asked.getresponse()
        return "" if answer.status == 200 else f"port {port}: {answer.read(200).decode()}"
    except (OSError, http.client.HTTPException) as error:
        return f"port {port}: {error}"
    finally:
        asked.close()


def main() -> None:
    """Exit with 0 if one lives, else with 1 and what is wrong."""
    wrong = [alive(port) for port in map(int, sys.argv[1:] or PORTS)]
    if all(wrong):
        print("; ".join(wrong))
        raise SystemExit(1)


if __name__ == "__main__":
    main()
