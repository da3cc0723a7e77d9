"""No refactoring changes what is learned: every learner's state, digested, is what it was."""

from __future__ import annotations

import re

import pytest

import stream_llsvm
from stream_llsvm.learners.registry import KEYED, LEARNERS
from tests.digests import CASES, WAYS, digest_of, kept, machine

#: Ways that must end in the same state as records that come one by one.
SAME = ("batches", "reloaded", "threads")


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], str]:
    return {}


@pytest.mark.parametrize(("name", "way"), CASES)
def test_a_state_is_what_it_was(name: str, way: str, found: dict[tuple[str, str], str]) -> None:
    found[name, way] = digest_of(WAYS[way](name))
    assert re.fullmatch("[0-9a-f]{32}", found[name, way])
    if way in SAME:
        if (name, "one by one") not in found:
            found[name, "one by one"] = digest_of(WAYS["one by one"](name))
        assert found[name, way] == found[name, "one by one"]
    if kept()["made on"] == machine():
        assert found[name, way] == kept()["digests"].get(name, {}).get(way), (
            "this change learns something else than before; if that is meant, say why in the "
            "commit and keep the new digests: python -m tests.digests --write"
        )


def test_every_learner_is_in_the_net() -> None:
    learners = {name for name in stream_llsvm.__all__ if name.endswith(("Classifier", "Regressor"))}
    # What decides by one of these learns nothing else.
    assert learners - {"DecidingClassifier"} == {*LEARNERS, KEYED}
    assert {name: set(ways) for name, ways in kept()["digests"].items()} == {
        name: {way for known, way in CASES if known == name} for name in (*LEARNERS, KEYED)
    }
