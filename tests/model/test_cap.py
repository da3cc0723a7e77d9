"""Wide sparse rows: capped members see the features that came first, and all is as before."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from stream_llsvm import CommitteeClassifier, ModelFileError, load_model
from stream_llsvm.kernels.mixer import AWAKE
from stream_llsvm.kernels.plan import MEMBER_ROW, MODEL_ROW, PLAN_WIDTH
from stream_llsvm.kernels.sleep import LINE, is_dear
from stream_llsvm.learners.load import from_payload
from stream_llsvm.members.registry import KINDS
from stream_llsvm.model.room import CAP
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.rows import Row, dense
from tests.kernels.alone import alone
from tests.learners.support import everything, sound

LOCAL = (
    "anchors:1",
    "anchors:5",
    "additive",
    "memory:100",
    "ferns:5",
    "waves",
    "local",
    "trees",
)
MEMBERS = ("words", "prior", "contexts", *LOCAL)
SOME = ("words", "prior", "anchors:5", "memory:100", "ferns:5")
Texts = list[tuple[dict[int, float], int]]


def texts(n: int, first: int = 0, vocabulary: int = 6_000, named: int = 20) -> Texts:
    """Return records that name words by Zipf's law: some each time, most hardly ever."""
    rng = np.random.default_rng(first)
    found: Texts = []
    for i in range(n):
        words = np.unique((vocabulary ** rng.random(named)).astype(np.int64))
        # At first as many as it takes: the most frequent words come first.
        x = dict.fromkeys(words.tolist(), 1.0)
        tell = int(rng.random() < 0.5)
        x[vocabulary + tell] = 2.0
        found.append((x, int(tell ^ (rng.random() < 0.1)) if i > 1 else i))
    return found


def state_of(model: Any) -> ModelState:
    state = model._state
    assert isinstance(state, ModelState)
    return state


def learned(members: tuple[str, ...] = SOME, n: int = 700, **options: Any) -> CommitteeClassifier:
    model = CommitteeClassifier(members=members, **options)
    for x, label in texts(n):
        model.predict_one(x)
        model.learn_one(x, label)
    return model


def matrix_of(records: Texts) -> tuple[Any, list[int]]:
    rows = [i for i, (x, _) in enumerate(records) for _ in x]
    columns = [name for x, _ in records for name in x]
    values = [value for x, _ in records for value in x.values()]
    shape = len(records), 1 + max(columns)
    return sparse.csr_matrix((values, (rows, columns)), shape=shape), [y for _, y in records]


def test_local_members_are_laid_out_for_the_first_features() -> None:
    model = learned(MEMBERS, budget=10**9)
    state = state_of(model)
    assert len(model.features) > 1_500 and state.width > 2 * CAP
    assert CAP <= state.local_width < 1_024 and state.is_capped
    for i, member in enumerate(state.members):
        own = state.shapes[1 + i][0]
        capped = member.name.partition(":")[0] in {name.partition(":")[0] for name in LOCAL}
        assert member.capped == capped
        assert own == (state.local_width if capped else state.width), member.name
    assert sound(model)
    right = 0
    for x, label in texts(100, first=1):
        right += model.predict_one(x) == label
    assert right > 80


def test_every_kind_but_those_that_need_all_columns_is_capped() -> None:
    whole = {name for name, kind in KINDS.items() if not kind.make(kind.size, 0).capped}
    assert whole == {"words", "prior", "contexts", "linear"}
    assert [name for name, kind in KINDS.items() if kind.make(kind.size, 0).sees_all] == ["words"]


@pytest.mark.parametrize("members", [SOME, MEMBERS])
def test_records_batches_threads_and_files_are_the_same(
    members: tuple[str, ...], tmp_path: Any
) -> None:
    records = texts(450)
    X, y = matrix_of(records)
    one, many, threads, read = (
        CommitteeClassifier(members=members, budget=10**9, threads=n) for n in (1, 1, 2, 1)
    )
    told = []
    for x, label in records:
        told.append(one.predict_one(x))
        one.learn_one(x, label)
    assert many.test_then_learn(X, y).tolist() == told
    assert threads.test_then_learn(X, y).tolist() == told
    for begin in range(0, len(records), 150):
        read.test_then_learn(X[begin : begin + 150], y[begin : begin + 150])
        read.save(tmp_path / "model")
        read = load_model(tmp_path / "model")
    assert everything(one) == everything(many) == everything(read) == everything(threads)
    assert state_of(one).is_capped and state_of(read).local_width == state_of(one).local_width


def test_a_new_name_changes_nothing_for_local_members() -> None:
    model = learned()
    before = state_of(model)
    old = [
        {name: view.copy() for name, view in before.views(1 + i).items()}
        for i in range(len(before.members))
    ]
    model._make_room([f"new {i}" for i in range(3_000)], [])
    after = state_of(model)
    assert after.width > before.width and after.local_width == before.local_width
    for i, member in enumerate(after.members):
        if member.capped:
            for name, view in after.views(1 + i).items():
                where = after._places[1 + i][name].where
                assert where == "scratch" or np.array_equal(view, old[i][name]), name


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_a_picture_keeps_all_its_columns(share: float) -> None:
    """Also where it comes without its zeros, and its names come bit by bit."""
    rng = np.random.default_rng(0)
    model = CommitteeClassifier(members=SOME)
    for i in range(60):
        pixels = np.flatnonzero(rng.random(784) < share).tolist()
        model.learn_one(dict.fromkeys(pixels, 1.0), i % 2)
    state = state_of(model)
    assert len(model.features) == 784 and not state.is_capped
    assert {shape[0] for shape in state.shapes} == {state.width}


def test_nobody_is_capped_where_nobody_sees_all() -> None:
    model = learned(tuple(name for name in SOME if name != "words"), n=500)
    assert state_of(model).width > CAP and not state_of(model).is_capped


def test_a_record_that_names_nearly_all_is_a_record_like_others() -> None:
    """A dense row: the first columns of it are cut as those of a sparse one are."""
    one, many = learned(), learned()
    names = list(one.features)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, len(names)))
    X[:, ::7] = np.nan
    for row in X:
        x = dict(zip(names, row.tolist(), strict=True))
        told = one.explain_one(x)
        assert told.bias + sum(told.contributions.values()) + told.memory == pytest.approx(
            told.score, abs=1e-6
        )
        one.predict_one(x)
        one.learn_one(x, 1)
    import pandas as pd

    frame = pd.DataFrame(X, columns=names)
    many.test_then_learn(frame, [1] * 3)
    assert everything(one) == everything(many) and sound(one)
    rows = state_of(one).as_taken(dense(X))
    assert isinstance(rows, Row) and rows.starts.tolist() == [i * len(names) for i in range(4)]


def test_explanations_add_up() -> None:
    model = learned(MEMBERS, budget=10**9)
    far = [name for name in model.features if model.features.index(name) > 1_000]
    for words, _ in texts(5, first=2):
        x = words | {far[0]: 1.0, far[-1]: 1.0}
        told = model.explain_one(x, 1)
        assert told.score == pytest.approx(model.decision_function_one(x)[1], abs=1e-6)
        parts = told.bias + told.memory + sum(told.contributions.values())
        assert parts == pytest.approx(told.score, abs=1e-6)
        assert set(told.contributions) == {n for n in x if n in set(model.features)}
    assert all(len(anchor.position) == state_of(model).local_width for anchor in model.anchors)
    assert len(model.feature_relevance) == len(model.features)


def test_history_is_capped_from_the_start() -> None:
    X, y = matrix_of(texts(1_000))
    model = CommitteeClassifier(members=SOME)
    model.warm_start(X[:800], y[:800], epochs=3)
    state = state_of(model)
    assert state.width > 4 * CAP and state.local_width == CAP and sound(model)
    # What records name most comes first, whatever it is called.
    named = np.asarray((X[:800] != 0).sum(axis=0)).reshape(-1)
    counts = [int(named[int(str(name))]) for name in model.features]
    assert counts == sorted(counts, reverse=True)
    assert np.mean(model.predict_many(X[800:]) == np.array(y[800:])) > 0.8


def test_what_capped_members_cost_is_counted_by_what_they_see() -> None:
    """By the width of all names they would cost next to nothing."""
    facts = np.ones((AWAKE + 1, 1))
    plan = np.zeros((2, PLAN_WIDTH), dtype=np.int64)
    plan[0, [MODEL_ROW.width, MODEL_ROW.budget]] = 65_536, 500
    plan[1, [MEMBER_ROW.width, MEMBER_ROW.cost]] = CAP, 1_000
    named = 20.0
    assert LINE * named / CAP > 0.5 > LINE * named / 65_536
    assert alone(is_dear)(facts, plan, named)
    plan[1, MEMBER_ROW.width] = 65_536
    assert not alone(is_dear)(facts, plan, named)


# ---- merge


def test_a_model_merged_with_itself_is_itself() -> None:
    model = learned()
    assert everything(model.merge([copy.deepcopy(model)])) == everything(model)


@pytest.mark.parametrize("apart", [100, 450])
def test_models_that_knew_other_words_first_are_merged(apart: int) -> None:
    """Before the cap was reached or after: what any of them sees, the merged one sees."""
    first = learned(n=apart)
    parts = [copy.deepcopy(first) for _ in range(2)]
    for k, part in enumerate(parts):
        for x, label in texts(500, first=k + 1):
            part.learn_one({name + 10_000 * k * (name > 50): v for name, v in x.items()}, label)
        assert state_of(part).is_capped
    model = parts[0].merge(parts[1:])
    again = parts[0].merge([copy.deepcopy(part) for part in parts[1:]])
    assert everything(model) == everything(again) and sound(model)
    seen = [set(p.features[: state_of(p).local_width]) for p in parts]
    merged = state_of(model)
    assert set(model.features[: merged.local_width]) == seen[0] | seen[1]
    assert set(model.features) == set(parts[0].features) | set(parts[1].features)
    right = 0
    for x, label in texts(100, first=9):
        right += model.predict_one(x) == label
        model.learn_one(x, label)
    assert right > 75 and sound(model)
    alike = seen[0] == seen[1]
    assert alike == (merged.local_width == state_of(parts[0]).local_width)


# ---- files


@pytest.mark.parametrize("local", [-1, 0, 1, CAP - 1, 10**6, 10**30, True, 600.0, None])
def test_a_file_with_an_impossible_local_width_is_refused(local: Any) -> None:
    payload = dict(learned(n=450)._payload())
    from_payload(payload)
    with pytest.raises(ModelFileError):
        from_payload(payload | {"local_width": local})


# ---- what a name costs


def test_a_name_takes_two_hundred_bytes() -> None:
    members = CommitteeClassifier(members=MEMBERS)._members()
    sizes = [
        ModelState(members, width, 2, standardize=True, local_width=CAP).n_bytes
        for width in (2**18, 2**19)
    ]
    assert (sizes[1] - sizes[0]) / 2**18 <= 200
