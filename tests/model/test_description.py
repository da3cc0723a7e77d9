"""A file says what lies where: another layout of the same sections loads to the same state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_llsvm
from stream_llsvm.learners.load import from_payload
from stream_llsvm.learners.registry import KEYED, LEARNERS
from stream_llsvm.model.file import ModelFileError, dumps, loads
from stream_llsvm.model.pages import fill, pages_of
from tests.learners.support import SMALL

NAMES = sorted(set(LEARNERS) - {KEYED})
OPTIONS = {kind.__name__: options for kind, options in SMALL.items()}


def taught(name: str) -> Any:
    model = getattr(stream_llsvm, name)(**OPTIONS.get(name, {}))
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(300, 3)), 2)
    y: Any = x[:, 0] - x[:, 1]
    model.learn_many(x, y if name.endswith("Regressor") else (y > 0).astype(int))
    return model


def sections(model: Any) -> dict[tuple[int, str], bytes]:
    """Return all that is saved of a model."""
    memory = model._state
    return {
        (row, name): memory.views(row)[name].tobytes()
        for row, places in enumerate(memory.places)
        for name, place in places.items()
        if place.where == "state"
    }


def moved(payload: dict[str, Any], keep: Callable[[str, str], bool]) -> dict[str, Any]:
    """Return what another version would have written: sections in another order, some not there."""
    told = payload["sections"]
    rows = [(owner, [one for one in own if keep(owner, one[0])][::-1]) for owner, own in told]
    end = max(start + len_of(extent, kind) for _, own in told for _, kind, extent, start in own)
    old = np.zeros(end)
    fill(old, payload["state"], payload["pages"])
    block: list[Any] = []
    made = []
    size = 0
    for owner, own in rows[::-1]:
        places = []
        for name, kind, extent, start in own:
            places.append((name, kind, extent, size))
            block.append(old[start : start + len_of(extent, kind)])
            size += len_of(extent, kind)
        made.append((owner, places))
    state, pages = pages_of(np.concatenate([np.zeros(0), *block]))
    return payload | {"state": state, "pages": pages, "sections": made[::-1], "version": "9.8.7"}


def len_of(extent: tuple[int, ...], kind: str) -> int:
    return -(-int(np.prod(extent, dtype=int)) * int(kind[1:]) // 64) * 8


@pytest.mark.parametrize("name", NAMES)
def test_sections_are_found_by_name(name: str) -> None:
    model = taught(name)
    other: Any = loads(dumps(moved(model._payload(), lambda owner, section: True)))
    found = from_payload(other)
    assert sections(found) == sections(model)
    assert dumps(found._payload()) == dumps(model._payload())
    for one in (model, found):
        one.learn_many(np.eye(3), [0, 1, 1])
    assert sections(found) == sections(model)


def test_a_section_that_is_new_begins_as_in_a_new_model() -> None:
    model = taught("SAPLClassifier")
    other = moved(model._payload(), lambda owner, section: section != "errors")
    found = from_payload(other)
    before, after = sections(model), sections(found)
    fresh = model._state.like()
    fresh.begin()
    assert before[0, "errors"] != after[0, "errors"] == fresh.views(0)["errors"].tobytes()
    del before[0, "errors"], after[0, "errors"]
    assert before == after


def changed(payload: dict[str, Any], what: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """Return a payload whose description was changed."""
    told = [(owner, [list(one) for one in own]) for owner, own in payload["sections"]]
    what(told)
    again = [(owner, [tuple(one) for one in own]) for owner, own in told]
    return payload | {"sections": again, "version": "0.9.1"}


def resized(told: list[Any]) -> None:
    told[1][1][0][2] = (1, *told[1][1][0][2])


def renamed(told: list[Any]) -> None:
    told[1] = "another", told[1][1]


@pytest.mark.parametrize(
    ("what", "said"), [(resized, "is another one"), (renamed, "the members are others")]
)
def test_what_cannot_be_converted_names_the_version_that_can(
    what: Callable[[list[Any]], Any], said: str
) -> None:
    payload = changed(taught("SAPLClassifier")._payload(), what)
    with pytest.raises(ModelFileError, match=r"written by stream_llsvm 0\.9\.1, and .*" + said):
        from_payload(payload)


def far(told: list[Any]) -> None:
    told[0][1][0][3] = 2**39 // 8 * 8


def huge(told: list[Any]) -> None:
    told[0][1][0][2] = (2**39, 2**39)


def negative(told: list[Any]) -> None:
    told[0][1][0][2] = (-1,)


def odd(told: list[Any]) -> None:
    told[0][1][0][3] += 1


def unknown(told: list[Any]) -> None:
    told[0][1][0][1] = "O8"


def short(told: list[Any]) -> None:
    told[0][1][0].pop()


@pytest.mark.parametrize("what", [far, huge, negative, odd, unknown, short])
def test_a_description_is_read_as_if_a_stranger_had_written_it(
    what: Callable[[list[Any]], Any],
) -> None:
    payload = changed(taught("SAPLClassifier")._payload(), what)
    with pytest.raises(ModelFileError):
        from_payload(payload)


def test_options_make_no_room_that_the_file_does_not_fill() -> None:
    payload = moved(taught("SAPLClassifier")._payload(), lambda owner, section: False)
    params = payload["params"] | {"n_anchors": 100_000}
    owners = ["model", *(m.name for m in stream_llsvm.SAPLClassifier(**params)._members())]
    told: Any = [(owner, []) for owner in owners]
    payload |= {"sections": told}
    with pytest.raises(ModelFileError, match="does not fit its options"):
        from_payload(payload | {"params": params})


@pytest.mark.parametrize("told", [7, "model", [7], [("model", 7)], [("model", [7])], []])
def test_what_is_no_description_is_refused(told: Any) -> None:
    with pytest.raises(ModelFileError):
        from_payload(taught("SAPLClassifier")._payload() | {"sections": told})
