"""The learners that are to be compared, by the names that a user gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stream_llsvm.cli.mistakes import MistakeError, unknown
from stream_llsvm.cli.models import find, short_names
from stream_llsvm.cli.peers import PEERS, Labels


class Entrant(NamedTuple):
    """A learner by name, and how to make it when the labels are known."""

    name: str
    make: Callable[[Labels], Any]


def chosen(models: str, against: str) -> list[Entrant]:
    """Return the learners asked for."""
    found, names = [], _listed(models)
    for name in short_names() if "all" in names else names:
        try:
            kind = find(name)
        except ValueError as error:
            raise MistakeError(f"--models: {error}, all") from None
        found.append(Entrant(name, lambda labels, kind=kind: kind()))  # type: ignore[misc]
    for name in _listed(against):
        if name not in PEERS:
            raise MistakeError(f"--against: {unknown('learner', name, PEERS)}")
        found.append(Entrant(name, PEERS[name]))
    if not found:
        raise MistakeError("--models: name at least one")
    return found


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
