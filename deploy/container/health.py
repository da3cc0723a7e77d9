"""Whether what runs in this container lives: the page or the server, at its usual port.

``HEALTHCHECK`` of the Dockerfile calls it. It exits with 0 if one of them says so, over HTTP or
HTTPS. Where nobody listens, and the command is one that has no page, the process is all there is:
the container ends with it. With ports as arguments one of them must answer.
"""

from __future__ import annotations

import http.client
import ssl
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

PORTS = (8765, 8766)  # of `run --dashboard` and of `serve`
_COMMAND = Path("/proc/1/cmdline")
_TIMEOUT = 4.0  # seconds, twice at most
NOBODY = "nobody listens"


def asked(connection: http.client.HTTPConnection) -> str:
    """Return what is wrong, nothing if all is well."""
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        return "" if answer.status == 200 else answer.read(200).decode("utf-8", "replace")
    except ConnectionRefusedError:
        return NOBODY
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()


def alive(port: int) -> str:
    """Return what is wrong at a port, nothing if all is well; its certificate names other hosts."""
    wrong = asked(http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT))
    if wrong in ("", NOBODY) or wrong.startswith("{"):
        return wrong
    context = ssl._create_unverified_context()
    over_tls = http.client.HTTPSConnection("127.0.0.1", port, timeout=_TIMEOUT, context=context)
    found = asked(over_tls)
    return wrong if found.startswith("SSLError") else found


def listens(command: Iterable[str]) -> bool:
    """Whether a command line is one that is to listen."""
    return any(one == "serve" or one.startswith("--dashboard") for one in command)


def what_is_wrong(ports: Sequence[int], must_answer: bool) -> str:
    """Return it in words, nothing if one port is well, or nobody needs to be there."""
    found = {port: alive(port) for port in ports}
    if "" in found.values():
        return ""
    if not must_answer and set(found.values()) == {NOBODY}:
        return ""
    return "; ".join(f"port {port}: {wrong}" for port, wrong in found.items())


def main() -> None:
    """Exit with 0 if all is well, else with 1 and what is wrong."""
    ports = list(map(int, sys.argv[1:]))
    command = _COMMAND.read_bytes().decode("utf-8", "replace").split("\0")
    wrong = what_is_wrong(ports or PORTS, bool(ports) or listens(command))
    if wrong:
        print(wrong)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
