"""What a pipeline file may say: its sections, their keys, and what each may be."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from stream_llsvm.learners.options import choice, flag, number, whole

Check = Callable[[str, Any], Any]
_FOREVER = 1e12


def text(name: str, value: Any) -> str:
    """Return value if it is text that says something."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be text; got {value!r}")
    return value


def texts(name: str, value: Any) -> list[str]:
    """Return value as a list if it is text, or a list of texts."""
    several = value if isinstance(value, list) else [value]
    if not several or not all(isinstance(one, str) and one for one in several):
        raise ValueError(f"{name} must be text, or a list of texts; got {value!r}")
    return several


def words(name: str, value: Any) -> list[str]:
    """Return value as a list if it is text, or a list of texts, of which there may be none."""
    several = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in several):
        raise ValueError(f"{name} must be text, or a list of texts; got {value!r}")
    return several


def wholes(name: str, value: Any) -> list[int]:
    """Return value as a list if it is a whole number from 0 on, or a list of them."""
    several = value if isinstance(value, list) else [value]
    if not several or not all(type(one) is int and one >= 0 for one in several):
        raise ValueError(f"{name} must be whole numbers, as in {name} = [0, 1]; got {value!r}")
    return several


def table(name: str, value: Any) -> dict[str, Any]:
    """Return value if it is a table."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be a table, as in {name} = {{ a = 1 }}; got {value!r}")
    return value


def secret(name: str, value: Any) -> str:
    """Return value if it is text; it is not shown if it is not."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be text")
    return value


def _of(*allowed: str) -> Check:
    return partial(choice, allowed=allowed)


def _whole(low: int, high: int) -> Check:
    return partial(whole, low=low, high=high)


def _number(low: float, high: float) -> Check:
    return partial(number, low=low, high=high)


class Key(NamedTuple):
    """A key: what it may be, and whether it is only for files, or only for Kafka."""

    check: Check
    needed: bool = False
    only: str = ""


_KAFKA = {
    "options": Key(table, only="kafka"),
    "connect_timeout": Key(_number(0.1, 86_400), only="kafka"),
}
_READ = {
    "from": Key(texts, needed=True),
    "label": Key(text),
    "key": Key(text),
    "ignore": Key(texts),
    "features": Key(texts),
    "missing": Key(words),
    "decimal": Key(_of(".", ",")),
    "on_bad_field": Key(_of("missing", "reject")),
    "encoding": Key(text, only="file"),
    "format": Key(_of("auto", "csv", "jsonl", "svmlight", "parquet"), only="file"),
    "names": Key(texts),
    "delimiter": Key(text, only="file"),
    "follow": Key(flag, only="file"),
    "message": Key(_of("json", "msgpack", "csv"), only="kafka"),
    "start": Key(_of("earliest", "latest"), only="kafka"),
    "isolation": Key(_of("read_committed", "read_uncommitted"), only="kafka"),
    "on_lost_data": Key(_of("stop", "earliest"), only="kafka"),
    "partitions": Key(wholes, only="kafka"),
    "group": Key(text, only="kafka"),
    **_KAFKA,
}
_WRITE = {
    "to": Key(text, needed=True),
    "max_bytes": Key(_whole(1_000, 10**15), only="file"),
    "keep": Key(_whole(1, 10**6), only="file"),
    "on_lost_output": Key(_of("stop", "new"), only="file"),
    "make_topic": Key(flag, only="kafka"),
    **_KAFKA,
}

SECTIONS: dict[str, dict[str, Key]] = {
    "source": _READ,
    "labels": {
        **_READ,
        "label": Key(text, needed=True),
        "key": Key(text, needed=True),
        "most": Key(_whole(1, 10**9)),
        "longest": Key(_number(0, _FOREVER)),
    },
    "model": {"class": Key(text), "save": Key(text)},  # and the options of the class
    "sink": {**_WRITE, "transactional_id": Key(text, only="kafka")},
    "dead_letters": _WRITE,
    "checkpoints": {
        "folder": Key(text, needed=True),
        "every": Key(_number(0, _FOREVER)),
        "keep": Key(_whole(1, 10**6)),
    },
    "engine": {
        "max_batch": Key(_whole(1, 10**6)),
        "max_rejected_ratio": Key(_number(0, 1)),
        "window": Key(_whole(1, 10**7)),
        "detector": Key(_of("adwin", "none")),
        "probabilities": Key(_of("top", "all")),
    },
    "dashboard": {
        "host": Key(text),
        "port": Key(_whole(0, 65_535)),
        "token": Key(secret),
        "new_token": Key(flag),
    },
}
NEEDED = ("source",)
