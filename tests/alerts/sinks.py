"""Who is told, for real and on this machine: a webhook and a mail server."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple


class Posted(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any


class Hook:
    """A web server that keeps what is posted, and answers as it is told to."""

    def __init__(self) -> None:
        self.posted: list[Posted] = []
        self.status = 200
        self.hang = threading.Event()
        self.hang.set()  # cleared, requests are not answered
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.posted.append(Posted(self.path, dict(self.headers), json.loads(body)))
                hook.hang.wait(60)
                self.send_response(hook.status)
                if 300 <= hook.status < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hooks/secret-path"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        """End."""
        self.hang.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def hook() -> Iterator[Hook]:
    """Serve a webhook."""
    one = Hook()
    try:
        yield one
    finally:
        one.close()


class Certificate(NamedTuple):
    """A key and a certificate for this machine that nobody else trusts."""

    key: Path
    certificate: Path


def certificate(folder: Path) -> Certificate:
    """Make one."""
    key, made = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", str(key), "-out", str(made),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return Certificate(key, made)


class Mailbox:
    """A mail server that keeps what it is sent; it speaks as much SMTP as a client needs.

    Parameters
    ----------
    security
        ``starttls``, ``tls`` or ``none``.
    pair
        What it is known by.
    login
        The user and password that it wants, if any.

    """

    def __init__(
        self,
        security: str,
        pair: Certificate | None = None,
        login: tuple[str, str] | None = None,
    ) -> None:
        self.mails: list[str] = []
        self.recipients: list[str] = []
        self._security, self._login = security, login
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if pair is not None:
            self._tls.load_cert_chain(pair.certificate, pair.key)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            # A client may hang up, or not trust the certificate.
            with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                stack.callback(connection.close)
                if self._security == "tls":
                    connection = stack.enter_context(self._secured(connection))
                self._talk(connection, stack)

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True)

    def _talk(self, connection: socket.socket, stack: contextlib.ExitStack) -> None:
        safe = self._security == "tls"
        lines = stack.enter_context(connection.makefile("rb"))
        connection.sendall(b"220 here\r\n")
        known = self._login is None
        while line := lines.readline():
            words = line.decode().strip()
            verb = words.split(" ")[0].upper()
            if verb == "EHLO":
                more = b"250-STARTTLS\r\n" if self._security == "starttls" and not safe else b""
                auth = b"250-AUTH PLAIN\r\n" if safe or self._security == "none" else b""
                connection.sendall(b"250-here\r\n" + more + auth + b"250 8BITMIME\r\n")
            elif verb == "STARTTLS":
                connection.sendall(b"220 go\r\n")
                connection = stack.enter_context(self._secured(connection))
                lines, safe = stack.enter_context(connection.makefile("rb")), True
            elif verb == "AUTH":
                known = self._is_known(words)
                # It repeats what it was told, as some do.
                said = b"235 welcome" if known else f"535 no: {words}".encode()
                connection.sendall(said + b"\r\n")
            elif verb == "DATA":
                connection.sendall(b"354 go on\r\n")
                mail = b""
                while not mail.endswith(b"\r\n.\r\n"):
                    mail += lines.readline()
                self.mails.append(mail.decode())
                connection.sendall(b"250 kept\r\n")
            elif verb == "QUIT":
                connection.sendall(b"221 bye\r\n")
                return
            elif verb in ("MAIL", "RCPT") and not known:
                connection.sendall(b"530 who are you?\r\n")
            else:
                if verb == "RCPT":
                    self.recipients.append(words)
                connection.sendall(b"250 fine\r\n")

    def _is_known(self, words: str) -> bool:
        said = base64.b64decode(words.rpartition(" ")[2]).decode().split("\0")
        return self._login is not None and tuple(said[1:]) == self._login


@contextmanager
def mailbox(
    security: str, pair: Certificate | None = None, login: tuple[str, str] | None = None
) -> Iterator[Mailbox]:
    """Serve a mailbox."""
    one = Mailbox(security, pair, login)
    try:
        yield one
    finally:
        one.close()
