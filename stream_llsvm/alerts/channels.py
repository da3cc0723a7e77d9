"""Where messages go: to a webhook, by e-mail, or to a command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import smtplib
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

from stream_llsvm.alerts.message import Message
from stream_llsvm.alerts.secrets import Secrets
from stream_llsvm.options import choice

_PATIENCE = 10.0  # seconds for each step of a conversation
_COMMAND = 30.0  # seconds for a command
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
#: What Slack's servers, and those that speak like them, want.
_SLACK = "hooks.slack.com"


class ChannelError(Exception):
    """A message could not be handed over; the text says why, without secrets."""


class Channel(Protocol):
    """Somewhere that messages are sent to."""

    #: What it is called in logs, without secrets.
    name: str

    def send(self, message: Message) -> None:
        """Hand a message over, or raise ChannelError."""


class Webhook:
    """Posts JSON.

    Parameters
    ----------
    url
        Where to; ``http`` or ``https``.
    format
        ``json``: `Message.payload`; ``slack``: one text, as Slack, Mattermost and others take it.
        Slack's own address has ``slack`` unless said.
    headers
        More headers, such as ``Authorization``.
    ca
        A file of certificates to trust, if not the system's.

    Each text may be ``{"env": "NAME"}`` or ``{"file": "path"}``: it is read from there.

    """

    def __init__(
        self,
        url: Any,
        *,
        format: str | None = None,
        headers: Mapping[str, Any] | None = None,
        ca: str | None = None,
    ) -> None:
        self._secrets = Secrets()
        self._url = self._secrets.read("url", url)
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("a webhook's url begins with http:// or https:// and has a host")
        slack = parts.hostname == _SLACK
        self._format = choice("format", format or ("slack" if slack else "json"), ["json", "slack"])
        given = {name: self._secrets.read(name, value) for name, value in (headers or {}).items()}
        self._headers = {"Content-Type": "application/json", "User-Agent": "stream-llsvm"} | given
        # What is in the path often is the secret: only the host is ever named.
        self.name = f"webhook {parts.hostname}"
        tls = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca))
        self._opener = urllib.request.build_opener(_NoRedirect, tls)

    def send(self, message: Message) -> None:
        """Post it."""
        body: dict[str, Any] = message.payload()
        if self._format == "slack":
            body = {"text": f"*{message.title}*\n{message.text}"}
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            request = urllib.request.Request(self._url, data, self._headers)
            with self._opener.open(request, timeout=_PATIENCE):
                return
        except urllib.error.HTTPError as error:
            error.close()
            raise ChannelError(f"{self.name} answered {error.code}") from None
        except (OSError, ValueError) as error:  # http.client's errors are of both kinds
            why = getattr(error, "reason", error)
            raise ChannelError(f"{self.name}: {self._secrets.scrub(why)}") from None
        except Exception as error:  # what is no HTTP at all
            raise ChannelError(f"{self.name}: {type(error).__name__}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it would lose the body, and may lead anywhere."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse."""


class Email:
    """Sends mail.

    Parameters
    ----------
    host
        The mail server.
    sender, to
        From whom and to whom.
    security
        ``starttls`` (usual), ``tls`` from the first byte, or ``none``.
    port
        587, 465 or 25, as the security is.
    user, password
        To log in. The password may be ``{"env": "NAME"}`` or ``{"file": "path"}``. It is not sent
        without encryption but to this machine.
    ca
        A file of certificates to trust, if not the system's.

    """

    def __init__(
        self,
        host: str,
        sender: str,
        to: Sequence[str],
        *,
        security: str = "starttls",
        port: int | None = None,
        user: str | None = None,
        password: Any = None,
        ca: str | None = None,
    ) -> None:
        self._secrets = Secrets()
        self._security = choice("security", security, _PORTS)
        self._host, self._port = host, port or _PORTS[security]
        self._from, self._to = sender, list(to)
        if not self._to:
            raise ValueError("to has no address")
        for address in (sender, *self._to):
            if "@" not in address or any(mark.isspace() for mark in address):
                raise ValueError(f"{address!r} is no mail address")
        if (user is None) != (password is None):
            raise ValueError("user and password belong together")
        self._user = user
        self._password = None if password is None else self._secrets.read("password", password)
        if not f"{user}{self._password}".isascii():
            raise ValueError("user and password can have ASCII letters only")
        if user is not None and security == "none" and not _is_local(host):
            raise ValueError("a password is not sent without encryption: use starttls or tls")
        self._tls = ssl.create_default_context(cafile=ca)
        self.name = f"e-mail by {host}"

    def send(self, message: Message) -> None:
        """Send it, to all at once."""
        mail = EmailMessage()
        mail["Subject"], mail["From"], mail["To"] = message.title, self._from, ", ".join(self._to)
        mail["Date"], mail["Message-ID"] = formatdate(message.time), make_msgid(domain="localhost")
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(f"{message.text}\n\nRun: {message.run}\nMachine: {message.host}\n")
        try:
            with self._connected() as server:
                if self._user is not None and self._password is not None:
                    server.login(self._user, self._password)
                server.send_message(mail, self._from, self._to)
        except smtplib.SMTPAuthenticationError as error:  # whose text may repeat what was sent
            raise ChannelError(f"{self.name} refuses the password ({error.smtp_code})") from None
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise ChannelError(f"{self.name}: {self._secrets.scrub(error)}") from None

    def _connected(self) -> smtplib.SMTP:
        if self._security == "tls":
            return smtplib.SMTP_SSL(
                self._host, self._port, timeout=_PATIENCE, context=self._tls
            )  # fmt: skip
        server = smtplib.SMTP(self._host, self._port, timeout=_PATIENCE)
        if self._security == "starttls":
            try:
                server.starttls(context=self._tls)
            except BaseException:
                server.close()
                raise
        return server


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Command:
    """Runs a program, without a shell, that gets the message as JSON on its standard input.

    Parameters
    ----------
    words
        The program and its arguments. Exit code 0 says that the message was taken.

    """

    def __init__(self, words: Sequence[str]) -> None:
        if not words or not all(isinstance(word, str) and word for word in words):
            raise ValueError('a command is a list of texts, as in ["page-me", "--now"]')
        self._words = list(words)
        self.name = f"command {os.path.basename(words[0])}"

    def send(self, message: Message) -> None:
        """Run it, for half a minute at most."""
        data = json.dumps(message.payload()).encode("utf-8", "replace")
        nothing = subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ChannelError(f"{self.name}: {error.strerror or error}") from None
        with process:
            try:
                process.communicate(data, timeout=_COMMAND)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                raise ChannelError(f"{self.name} took more than {_COMMAND:.0f} s") from None
        if process.returncode != 0:
            raise ChannelError(f"{self.name} ended with {process.returncode}")
