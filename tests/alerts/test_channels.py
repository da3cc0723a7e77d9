"""Messages arrive, for real, and what goes wrong is told without secrets."""

from __future__ import annotations

import email
import json
import socket
import sys
import threading
from collections.abc import Callable
from email import policy
from pathlib import Path
from typing import Any

import pytest

from stream_llsvm.alerts import channels
from stream_llsvm.alerts.alert import Alert
from stream_llsvm.alerts.channels import ChannelError, Command, Email, Webhook
from stream_llsvm.alerts.message import Message
from stream_llsvm.alerts.rules import BY_NAME
from tests.alerts.sinks import certificate, hook, mailbox

MESSAGE = Message(
    "räcords.csv", "host", 1_000.0,
    [Alert(BY_NAME["rejected"], 900.0, 0.3125), Alert(BY_NAME["stopped"], 100.0, 61.0, 200.0)],
)  # fmt: skip


def test_a_webhook_gets_it_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALERT_TOKEN", "s3cret")
    with hook() as sink:
        Webhook(sink.url, headers={"Authorization": {"env": "ALERT_TOKEN"}}).send(MESSAGE)
        (posted,) = sink.posted
    assert posted.path == "/hooks/secret-path"
    assert posted.headers["Authorization"] == "s3cret"
    assert posted.headers["Content-Type"] == "application/json"
    assert posted.body == MESSAGE.payload()
    first, second = posted.body["alerts"]
    assert (posted.body["status"], posted.body["run"]) == ("firing", "räcords.csv")
    assert (first["alert"], first["status"], first["since"]) == ("rejected", "firing", 900.0)
    assert "0.3125" in first["summary"]
    assert (second["status"], second["until"]) == ("resolved", 200.0)


def test_slack_gets_one_text() -> None:
    with hook() as sink:
        Webhook(sink.url, format="slack").send(MESSAGE)
        (posted,) = sink.posted
    title, first, second = posted.body["text"].splitlines()
    assert title == "*stream-llsvm: rejected (räcords.csv on host)*"
    assert first.startswith("WARNING rejected: A share of 0.3125")
    assert "1970-01-01 00:15:00Z" in first
    assert second.startswith("RESOLVED stopped: from 1970-01-01 00:01:40Z to")
    assert Webhook("https://hooks.slack.com/services/T/B/x")._format == "slack"


@pytest.mark.parametrize("status", [302, 404, 429, 500])
def test_a_webhook_that_does_not_take_it(status: int) -> None:
    with hook() as sink:
        sink.status = status
        with pytest.raises(ChannelError, match=f"^webhook 127.0.0.1 answered {status}$"):
            Webhook(sink.url).send(MESSAGE)
        assert len(sink.posted) == 1  # nothing is followed


def silent(talk: Callable[[socket.socket], None]) -> tuple[socket.socket, int]:
    """Return a server of which each connection is handled so."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                talk(server.accept()[0])
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    return server, int(server.getsockname()[1])


def test_one_that_refuses_hangs_or_speaks_no_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "_PATIENCE", 0.2)
    kept: list[socket.socket] = []

    def nonsense(connection: socket.socket) -> None:
        with connection:
            connection.recv(100_000)
            connection.sendall(b"\x00\x01 nonsense\r\n\r\n")

    for talk in (kept.append, nonsense, lambda connection: connection.close()):
        server, port = silent(talk)
        with server, pytest.raises(ChannelError, match=r"^webhook 127\.0\.0\.1") as error:
            Webhook(f"http://127.0.0.1:{port}/secret-path").send(MESSAGE)
        assert "secret-path" not in str(error.value)
        with pytest.raises(ChannelError):  # nobody is there any more
            Webhook(f"http://127.0.0.1:{port}/secret-path").send(MESSAGE)
    for one in kept:
        one.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ftp://host/x", "http://"),
        ("file:///etc/passwd", "http://"),
        ("https://", "has a host"),
        ({"env": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE (url) is not set"),
        ({"file": "/no/such/file"}, "cannot be read"),
        ({"shell": "rm"}, 'url is text, or { env = "NAME" }'),
    ],
)
def test_a_wrong_address_is_a_mistake(given: Any, said: str) -> None:
    with pytest.raises(ValueError) as error:
        Webhook(given)
    assert said in str(error.value)


@pytest.mark.parametrize("security", ["starttls", "tls", "none"])
def test_mail_arrives(security: str, tmp_path: Path) -> None:
    pair = certificate(tmp_path)
    login = None if security == "none" else ("learner", "pa55 word")
    (tmp_path / "password").write_text("pa55 word\n")
    with mailbox(security, pair, login) as box:
        given: dict[str, Any] = {}
        if login is not None:
            given = {"user": "learner", "password": {"file": str(tmp_path / "password")}}
        to = ["ops@example.com", "boss@example.com"]
        channel = Email(
            "127.0.0.1", "learner@example.com", to, security=security, port=box.port,
            ca=str(pair.certificate), **given,
        )  # fmt: skip
        channel.send(MESSAGE)
        (raw,) = box.mails
    mail = email.message_from_string(raw, policy=policy.default)
    assert mail["Subject"] == "stream-llsvm: rejected (räcords.csv on host)"
    assert mail["To"] == "ops@example.com, boss@example.com"
    assert len(box.recipients) == 2
    body = mail.get_content()
    assert "WARNING rejected" in body and "RESOLVED stopped" in body and "räcords.csv" in body


def test_mail_goes_only_to_a_server_that_is_trusted(tmp_path: Path) -> None:
    pair = certificate(tmp_path)
    for security in ("starttls", "tls"):
        with mailbox(security, pair) as box:
            channel = Email("127.0.0.1", "a@b.c", ["d@e.f"], security=security, port=box.port)
            with pytest.raises(ChannelError, match="certificate"):
                channel.send(MESSAGE)
            assert box.mails == []
    with mailbox("none") as box:  # which has no STARTTLS
        with pytest.raises(ChannelError, match="STARTTLS"):
            Email("127.0.0.1", "a@b.c", ["d@e.f"], port=box.port).send(MESSAGE)
        assert box.mails == []


def test_a_wrong_password_is_not_repeated(tmp_path: Path) -> None:
    """Also where the server repeats what it was told."""
    pair = certificate(tmp_path)
    with mailbox("tls", pair, ("learner", "right")) as box:
        channel = Email(
            "127.0.0.1", "a@b.c", ["d@e.f"], security="tls", port=box.port, user="learner",
            password="wrong-password", ca=str(pair.certificate),
        )  # fmt: skip
        with pytest.raises(ChannelError, match=r"refuses the password \(535\)") as error:
            channel.send(MESSAGE)
    import base64

    secret = base64.b64encode(b"\0learner\0wrong-password").decode()
    assert "wrong-password" not in str(error.value) and secret not in str(error.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"to": []}, "to has no address"),
        ({"to": ["no address"]}, "no mail address"),
        ({"to": ["a@b.c\nBcc: x@y.z"]}, "no mail address"),
        ({"security": "ssl"}, "security must be one of"),
        ({"user": "u"}, "belong together"),
        ({"user": "u", "password": "wörd"}, "ASCII"),
        ({"user": "u", "password": "p", "security": "none", "host": "mail.example.com"},
         "not sent without encryption"),
    ],
)  # fmt: skip
def test_mail_that_cannot_be_sent_is_a_mistake(more: dict[str, Any], said: str) -> None:
    given = {"host": "localhost", "sender": "a@b.c", "to": ["d@e.f"]} | more
    with pytest.raises(ValueError, match=said):
        Email(**given)


def test_a_command_gets_it_on_its_input(tmp_path: Path) -> None:
    out = tmp_path / "told; rm -rf x.json"
    code = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    Command([sys.executable, "-c", code, str(out)]).send(MESSAGE)
    assert json.loads(out.read_text()) == MESSAGE.payload()


def test_a_command_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ChannelError, match="ended with 3"):
        Command([sys.executable, "-c", "import sys; sys.exit(3)"]).send(MESSAGE)
    with pytest.raises(ChannelError, match="No such file"):
        Command([str(tmp_path / "nothing")]).send(MESSAGE)
    monkeypatch.setattr(channels, "_COMMAND", 0.2)
    with pytest.raises(ChannelError, match="took more than"):  # and its children end with it
        Command(["/bin/sh", "-c", "sleep 60 & sleep 60; true"]).send(MESSAGE)
