"""What a pipeline file may say of alerts: rules, and who is told; each check makes what is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stream_llsvm.alerts.channels import Channel, Command, Email, Webhook
from stream_llsvm.alerts.rules import RULES, Rule
from stream_llsvm.options import number

_MOST = 1e9
#: The keys of a table, and the arguments that they are; True if one must be there.
_WEBHOOK = {"url": True, "format": False, "headers": False, "ca": False}
_EMAIL = {
    "host": True, "from": True, "to": True, "security": False, "port": False, "user": False,
    "password": False, "ca": False,
}  # fmt: skip


def rules(name: str, value: Any) -> list[Rule]:
    """Return the rules; a table switches some off, or has other thresholds for them.

    Examples
    --------
    >>> chosen = rules("rules", {"lagging": 120, "no_labels": False})
    >>> [(one.name, one.threshold) for one in chosen if one.name in ("lagging", "no_labels")]
    [('lagging', 120.0)]

    """
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be a table, as in {name} = {{ lagging = 120 }}")
    known = [rule.name for rule in RULES if not rule.outside]
    for one in value:
        if one not in known:
            raise ValueError(f"{name}: there is no rule {one!r}; there are {', '.join(known)}")
    return [
        _changed(rule, value.get(rule.name, True))
        for rule in RULES
        if value.get(rule.name, 1) is not False
    ]


def _changed(rule: Rule, said: Any) -> Rule:
    if said is True:
        return rule
    try:
        return rule._replace(threshold=number(rule.name, said, 0, _MOST))
    except ValueError:
        raise ValueError(
            f"{rule.name} is false, or its threshold ({rule.meaning}); got {said!r}"
        ) from None


def webhooks(name: str, value: Any) -> list[Channel]:
    """Return the webhooks of a url, a table, or a list of them."""
    several = value if isinstance(value, list) else [value]
    tables = [one if _is_table(one) else {"url": one} for one in several]
    return [_made(name, Webhook, one, _WEBHOOK) for one in tables]


def _is_table(one: Any) -> bool:
    """Whether this is a table with more to say than where a secret lies."""
    return isinstance(one, Mapping) and not set(one) <= {"env", "file"}


def emails(name: str, value: Any) -> list[Channel]:
    """Return who is mailed, of a table or a list of them."""
    several = value if isinstance(value, list) else [value]

    def email(**given: Any) -> Channel:
        to = given.pop("to")
        if not isinstance(given["host"], str) or not given["host"]:
            raise ValueError("host must be text")
        given |= {"to": [to] if isinstance(to, str) else to, "sender": given.pop("from")}
        return Email(**given)

    return [_made(name, email, one, _EMAIL) for one in several]


def commands(name: str, value: Any) -> list[Channel]:
    """Return the commands of a list of words, or of several such lists."""
    several = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    if not all(isinstance(one, list) for one in several):
        raise ValueError(f'{name} is a list of words, as in {name} = ["page-me", "--now"]')
    return [Command(one) for one in several]


def _made(
    name: str, make: Callable[..., Channel], given: Any, known: Mapping[str, bool]
) -> Channel:
    if not isinstance(given, Mapping):
        raise ValueError(f"{name} must be a table with {', '.join(known)}")
    for key in given:
        if key not in known:
            raise ValueError(f"{name} has no {key!r}; it has {', '.join(known)}")
    for key, needed in known.items():
        if needed and key not in given:
            raise ValueError(f"{name}: {key} is missing")
    try:
        return make(**given)
    except (TypeError, AttributeError):
        raise ValueError(f"{name}: a value is of the wrong type") from None
    except OSError as error:
        raise ValueError(f"{name}: ca cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
