"""Why no connection to a Kafka broker comes about, in one line.

kafka-python tells no more than "Unable to bootstrap". This asks by itself, one step after the
other: name, port, TLS, Kafka's protocol, login.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

_HANDSHAKE, _API_VERSIONS, _AUTHENTICATE = 17, 18, 36
_UNSUPPORTED_MECHANISM, _ILLEGAL_STATE = 33, 34
_HOSTNAME_MISMATCH = {62, 64}  # OpenSSL's codes for a name and for an address
_LONGEST = 1 << 20  # no answer to these questions is longer


class Trouble(NamedTuple):
    """What is wrong, in one line, and whether waiting will not help."""

    text: str
    lasting: bool


def hosts(servers: str | list[str]) -> list[tuple[str, int]]:
    """Return host and port of each server of ``"host:port,host:port"`` or of a list."""
    many = servers.split(",") if isinstance(servers, str) else servers
    found = []
    for one in many:
        text = one.strip().rpartition("://")[2]
        host, colon, port = text.rpartition(":")
        if not colon or text.endswith("]"):
            host, port = text, "9092"
        if not host or not port.isdigit():
            raise ValueError(f"{one!r} is not host:port")
        found.append((host.strip("[]"), int(port)))
    return found


def diagnose(host: str, port: int, config: Mapping[str, Any], timeout: float) -> Trouble | None:
    """Return what keeps a client with these settings from this broker; None if nothing does."""
    where = f"{host}:{port}"
    protocol = str(config.get("security_protocol", "PLAINTEXT"))
    try:
        context = tls_context(config) if protocol.endswith("SSL") else None
    except (OSError, ssl.SSLError) as error:
        file = getattr(error, "filename", None) or config.get("ssl_cafile")
        return Trouble(f"the TLS files cannot be used ({file}: {error})", lasting=True)
    try:
        link = socket.create_connection((host, port), timeout)
    except socket.gaierror as error:
        return Trouble(f"the name {host} cannot be resolved ({error.strerror})", lasting=False)
    except ConnectionRefusedError:
        return Trouble(f"{where} refuses connections: nothing listens there", lasting=False)
    except TimeoutError:
        return Trouble(f"{where} does not answer within {timeout:.0f} s", lasting=False)
    except OSError as error:
        return Trouble(f"{where} cannot be reached ({error.strerror or error})", lasting=False)
    with contextlib.closing(link):
        if context is None:
            return _talk(link, where, config, timeout)
        try:
            link = context.wrap_socket(link, server_hostname=host.rstrip("."))
        except ssl.SSLCertVerificationError as error:
            return Trouble(_untrusted(where, error, config), lasting=True)
        except (OSError, ssl.SSLError) as error:
            if _answers(host, port, timeout):
                text = f"{where} speaks plain text, not TLS (security_protocol is {protocol})"
                return Trouble(text, lasting=True)
            return Trouble(f"{where} breaks off the TLS handshake ({error})", lasting=False)
        with contextlib.closing(link):
            return _talk(link, where, config, timeout)


def tls_context(config: Mapping[str, Any]) -> ssl.SSLContext:
    """Return what kafka-python would make of the ``ssl_`` options."""
    given = config.get("ssl_context")
    if isinstance(given, ssl.SSLContext):
        return given
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = bool(config.get("ssl_check_hostname", True))
    if config.get("ssl_cafile"):
        context.load_verify_locations(config["ssl_cafile"])
    else:
        context.load_default_certs()
    if config.get("ssl_certfile"):
        context.load_cert_chain(
            config["ssl_certfile"], config.get("ssl_keyfile"), config.get("ssl_password")
        )
    return context


def _untrusted(where: str, error: ssl.SSLCertVerificationError, config: Mapping[str, Any]) -> str:
    if error.verify_code in _HOSTNAME_MISMATCH:
        return f"the certificate of {where} is for another name ({error.verify_message})"
    file = config.get("ssl_cafile") or "the system's authorities"
    return (
        f"the TLS certificate of {where} is not trusted by {file} ({error.verify_message}); "
        "set ssl_cafile to its authority"
    )


def _talk(
    link: socket.socket, where: str, config: Mapping[str, Any], timeout: float
) -> Trouble | None:
    """Speak Kafka over an open connection: versions, then the login."""
    protocol = str(config.get("security_protocol", "PLAINTEXT"))
    sasl = protocol.startswith("SASL")
    link.settimeout(timeout)
    try:
        _ask(link, _API_VERSIONS, 0)
    except (OSError, _NotKafkaError) as error:
        if "SSL" not in protocol and _speaks_tls(link, timeout):
            text = f"{where} speaks TLS, not plain text (security_protocol is {protocol})"
            return Trouble(text, lasting=True)
        if isinstance(error, ssl.SSLError):
            text = f"{where} breaks off TLS; it may want a certificate, ssl_certfile ({error})"
            return Trouble(text, lasting=True)
        return Trouble(f"{where} does not answer as a Kafka broker does ({error})", lasting=False)
    mechanism = str(config.get("sasl_mechanism")) if sasl else "NONE"
    try:
        answer = _ask(link, _HANDSHAKE, 1, _text(mechanism))
        code, offered = struct.unpack_from(">h", answer)[0], ", ".join(_texts(answer, 2))
        if not sasl:
            if code == _UNSUPPORTED_MECHANISM and offered:
                text = f"{where} wants a login (security_protocol SASL_..., {offered})"
                return Trouble(text, lasting=True)
            return None
        if code == _ILLEGAL_STATE:
            text = f"{where} takes no login (security_protocol is {protocol}; leave out SASL_)"
            return Trouble(text, lasting=True)
        if code == _UNSUPPORTED_MECHANISM:
            text = f"{where} does not offer the login mechanism {mechanism}, but {offered}"
            return Trouble(text, lasting=True)
        return _login(link, where, mechanism, config)
    except (OSError, _NotKafkaError, struct.error) as error:
        if not sasl:
            return None  # a broker too old to be asked this way: let the client try
        return Trouble(f"{where} breaks off the login ({error})", lasting=False)


def _login(
    link: socket.socket, where: str, mechanism: str, config: Mapping[str, Any]
) -> Trouble | None:
    from kafka.errors import KafkaError
    from kafka.net.sasl import get_sasl_mechanism

    wrong = f"{where} rejects the login: wrong user or password ({mechanism})"
    try:
        dialogue = get_sasl_mechanism(mechanism)(host=where.rpartition(":")[0], **config)
        while not dialogue.is_done():
            token = dialogue.auth_bytes()
            answer = _ask(link, _AUTHENTICATE, 0, struct.pack(">i", len(token)) + token)
            if struct.unpack_from(">h", answer)[0]:
                return Trouble(wrong, lasting=True)
            size = max(0, struct.unpack_from(">h", answer, 2)[0])
            (length,) = struct.unpack_from(">i", answer, 4 + size)
            dialogue.receive(answer[8 + size : 8 + size + max(0, length)])
    except (KafkaError, ValueError, KeyError, TypeError) as error:
        text = f"the login at {where} cannot be tried: {type(error).__name__} ({mechanism})"
        return Trouble(text, lasting=True)
    return None if dialogue.is_authenticated() else Trouble(wrong, lasting=True)


class _NotKafkaError(Exception):
    """What came back is no answer to what was asked."""


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _texts(answer: bytes, at: int) -> list[str]:
    (number,) = struct.unpack_from(">i", answer, at)
    found, at = [], at + 4
    for _ in range(number):
        (size,) = struct.unpack_from(">h", answer, at)
        found.append(answer[at + 2 : at + 2 + size].decode(errors="replace"))
        at += 2 + size
    return found


def _ask(link: socket.socket, what: int, version: int, body: bytes = b"") -> bytes:
    """Send one request and return the body of its answer."""
    request = struct.pack(">hhih", what, version, 7, -1) + body
    link.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _exactly(link, 4))
    if not 6 <= size <= _LONGEST:
        raise _NotKafkaError("its answer is no Kafka answer")
    answer = _exactly(link, size)
    if answer[:4] != struct.pack(">i", 7):
        raise _NotKafkaError("its answer is no Kafka answer")
    return answer[4:]


def _exactly(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = link.recv(size - len(data))
        if not more:
            raise _NotKafkaError("it closes the connection")
        data += more
    return data


def _answers(host: str, port: int, timeout: float) -> bool:
    """Tell whether a broker answers in plain text."""
    try:
        with socket.create_connection((host, port), timeout) as link:
            link.settimeout(timeout)
            _ask(link, _API_VERSIONS, 0)
    except (OSError, _NotKafkaError, struct.error):
        return False
    return True


def _speaks_tls(link: socket.socket, timeout: float) -> bool:
    """Tell whether the other end of a connection shakes hands in TLS on a new one."""
    anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anyone.check_hostname = False
    anyone.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection(link.getpeername()[:2], timeout) as other,
            anyone.wrap_socket(other),
        ):
            return True
    except (OSError, ssl.SSLError):
        return False
