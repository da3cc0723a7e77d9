"""Contexts: what only they do. What any member does is tested where all are."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_llsvm import CommitteeClassifier, ContextsClassifier, load_model
from stream_llsvm.kernels.boxes import NAME
from stream_llsvm.kernels.scaling import ABSENT
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.contexts import merge
from stream_llsvm.members.contexts import state as at
from stream_llsvm.members.contexts import table as tables
from stream_llsvm.members.contexts.member import Contexts
from stream_llsvm.members.contexts.table import COUNT, SHARES, TAG
from stream_llsvm.members.field_sets import sets_of
from stream_llsvm.records.boxes import boxed_name, unboxed
from tests.kernels.alone import alone
from tests.learners.support import everything, sound
from tests.oracle import Oracle
from tests.oracle_compare import Kernels, both_learn, stream, synced
from tests.oracle_parts import Array

place_of, holds, tag_of = alone(tables.place_of), alone(tables.holds), alone(tables.tag_of)
double = alone(tables.double)
SMALL = ("anchors:1", "anchors:8", "memory:70", "ferns:8", "contexts:1024")


def named(seed: int, n: int, classes: int = 3) -> tuple[Array, NDArray[np.int64]]:
    """Draw records of a number, a code, two names and a choice, which decide together."""
    rng = np.random.default_rng(seed)
    code, first, second, choice = (rng.integers(0, k, n) for k in (60, 5, 40, 4))
    x = np.stack(
        [
            rng.normal(size=n),
            1_000.0 + code,
            np.array([boxed_name(f"country {i}") for i in first]),
            np.array([boxed_name(f"user {i}") for i in second]),
            choice.astype(float),
        ],
        axis=1,
    )
    y = (first + 2 * choice + (second > 30)) % classes
    y[rng.random(n) < 0.1] = 0
    x[rng.random(x.shape) < 0.03] = np.nan
    return x, y


def text_of(value: float) -> float | str:
    """Return a name's text: from outside a NaN is a missing value, whatever its bits are."""
    kind, content = unboxed(value)
    return f"#{content:x}" if kind == NAME else value


def framed(x: Array) -> pd.DataFrame:
    """Return records as users have them, with texts for names."""
    return pd.DataFrame({j: [text_of(v) for v in column] for j, column in enumerate(x.T.tolist())})


def made(kind: str, **options: Any) -> LocalClassifier:
    if kind == "alone":
        return ContextsClassifier(n_cells=1_024, **options)
    return CommitteeClassifier(members=SMALL, **options)


def own_of(model: LocalClassifier) -> dict[str, NDArray[Any]]:
    """Return the sections of a model's contexts."""
    assert model._state is not None
    (row,) = (i for i, m in enumerate(model._state.members) if isinstance(m, Contexts))
    return model._state.views(1 + row)


# ---- beside the oracle


@pytest.mark.parametrize("cells", [1_024, 4_096])
@pytest.mark.parametrize("classes", [1, 2, 4])
def test_names_codes_and_gaps_are_learned_as_the_oracle_does(classes: int, cells: int) -> None:
    """Long enough for the table to be doubled, or for cells to give way."""
    of = Contexts(n_cells=cells, eager=True)
    kernels, oracle = Kernels(of, 5, classes), Oracle(of, 5, classes)
    x, labels = named(0, 300, max(classes, 2))
    x[::11, 3] = ABSENT
    x[::11, 3] = ABSENT
    for row, label in zip(x, labels % classes, strict=True):
        synced(oracle, kernels)
        both_learn(kernels, oracle, row, int(label), tolerance=1e-3)
    running = kernels.own["running"]
    assert classes == 1 or (running[at.USED] == cells and running[at.TAKEN] > 512)


# ---- the same however records come


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["alone", "committee"])
def test_rows_batches_files_and_predictions_are_the_same(
    kind: str, classes: int, tmp_path: Path
) -> None:
    boxes, y = named(1, 500, classes)
    x = framed(boxes)
    one, block, read, asked = (made(kind) for _ in range(4))
    told = [one.test_then_learn(x[i : i + 1], y[i : i + 1])[0] for i in range(len(x))]
    assert block.test_then_learn(x, y).tolist() == told
    for i in range(0, len(x), 89):
        read.learn_many(x[i : i + 89], y[i : i + 89])
        read.save(tmp_path / "model")
        again = load_model(tmp_path / "model")
        assert isinstance(again, LocalClassifier)
        read = again
    for i in range(len(x)):
        # Whatever is only asked changes nothing, and what was just told is taken over.
        asked.predict_many(x[i : i + 1])
        asked.learn_many(x[i : i + 1], y[i : i + 1])
    assert everything(one) == everything(block) == everything(read) == everything(asked)
    assert sound(one) and own_of(one)["running"][at.SEEN] > 400


def test_threads_are_the_same() -> None:
    boxes, y = named(2, 900)
    x = framed(boxes)
    one, two = made("committee"), made("committee", threads=2)
    assert one.test_then_learn(x, y).tolist() == two.test_then_learn(x, y).tolist()
    assert everything(one) == everything(two)


def test_a_sparse_row_is_the_dense_one() -> None:
    """Up to so many fields what is not named is missing, and missing is a name."""
    dense, sparse = (Kernels(Contexts(n_cells=1_024), 5, 3) for _ in range(2))
    x, y = named(3, 200)
    x[::11, 3] = ABSENT
    x[::11, 3] = ABSENT
    for row, label in zip(x, y, strict=True):
        dense.learn(row, int(label))
        sparse.sparse(row, int(label))
    assert np.array_equal(dense.words(), sparse.words())


def test_words_stand_alone_and_share_a_vote() -> None:
    kernels = Kernels(Contexts(n_cells=1_024), 2, 2)
    words = [boxed_name(word) for word in ("win", "a", "prize")]

    def text(said: list[float], label: int) -> float:
        values, columns = np.array([1.0, *said]), np.array([0, *[1] * len(said)])
        starts = np.array([0, len(values)])
        kernels.raw(values, columns, starts, np.array([label]))
        return float(kernels.scores[0, 0])

    for _ in range(30):
        text(words, 1)
        text([boxed_name("hello"), boxed_name("there"), boxed_name("a")], 0)
    asked = kernels.own["asked"][:, : kernels.own["n_asked"][0]]
    kinds = asked[at.TAKEN_AS].tolist()
    assert (
        kinds.count(at.WORD) == 3 and (asked[at.AT, np.array(kinds) == at.WORD] == [1, 2, 3]).all()
    )
    assert len(kinds) == 3 + 2, "the whole number and its eighth, and no pair with words"
    won, greeted = text(words, -1), text([boxed_name("hello"), boxed_name("you"), words[1]], -1)
    assert won > 1 and greeted < -0.5
    assert text([boxed_name("new"), boxed_name("words"), boxed_name("only")], -1) < won / 3


# ---- whether they are wanted


def test_numbers_with_fractions_leave_them_asleep_and_the_others_as_they_are() -> None:
    x, y = stream(4, 600, 4, 3, missing=0.02)
    with_them, without = made("committee"), CommitteeClassifier(members=SMALL[:-1])
    told = with_them.test_then_learn(x, y)
    assert told.tolist() == without.test_then_learn(x, y).tolist()
    shares = [m.predict_proba_many(x[:50]) for m in (with_them, without)]
    assert np.array_equal(*shares)
    assert with_them._state is not None and without._state is not None
    for i in range(len(SMALL)):
        theirs = without._state.views(i)
        for name, view in with_them._state.views(i).items():
            if name in ("mixer", "members"):
                assert np.array_equal(view[:, : theirs[name].shape[1]], theirs[name])
            elif with_them._state._places[i][name].where == "state":
                assert np.array_equal(view, theirs[name]), name
    own = own_of(with_them)
    assert own["running"][at.AWAKE] == at.ASLEEP and not own["table"].any()
    # Nor does a name wake them that is only asked for.
    named_now = dict(enumerate(x[0])) | {1: "DE"}
    with_them.predict_one(named_now)
    assert own_of(with_them)["running"][at.AWAKE] == at.ASLEEP
    with_them.learn_one(named_now, y[0])
    assert own_of(with_them)["running"][at.AWAKE] == at.FOR_GOOD


@pytest.mark.parametrize(
    ("values", "awake"),
    [
        (range(35), at.FOR_GOOD),
        (range(11, 41), at.ASLEEP),
        ([*range(20), 0.5, *range(20, 60)], at.ASLEEP),
        ([*range(10)] * 5, at.FOR_NOW),
        ([1.0] * 5, at.ASLEEP),
        ([-0.0, 0.0, 2.0**70, -(2.0**70)], at.FOR_NOW),
        ([0.5, *range(10)], at.ASLEEP),
        ([float("nan")] * 5, at.ASLEEP),
    ],
)
def test_many_whole_numbers_are_a_code_and_few_are_choices(values: Any, awake: int) -> None:
    kernels = Kernels((Contexts(n_cells=1_024),), 1, 2)
    for value in values:
        kernels.learn(np.array([float(value)]), 0)
    assert kernels.own["running"][at.AWAKE] == awake


# ---- the table


def test_a_context_has_its_place_until_it_is_the_rarer_of_two() -> None:
    cells = np.zeros((1_024, 3), dtype=np.float32)
    codes = [5 | tag << 10 for tag in (3, 2**24 - 1, 9)]
    for code, count in zip(codes[:2], (4.0, 2.0), strict=True):
        place = place_of(cells, 1_024, code)
        assert cells[place, COUNT] == 0
        cells[place, [COUNT, TAG]] = count, tag_of(code)
    first, second, third = (place_of(cells, 1_024, code) for code in codes)
    assert {first, second} == {4, 5} and third == second
    assert holds(cells, second, tag_of(codes[1])) and not holds(cells, third, tag_of(codes[2]))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=700, unique=True))
@settings(max_examples=30)
def test_doubling_keeps_every_context(codes: list[int]) -> None:
    cells = np.zeros((4_096, 3), dtype=np.float32)
    kept = {}
    for n, code in enumerate(codes):
        place = place_of(cells, 1_024, code)
        if cells[place, COUNT] == 0:
            cells[place] = 1 + n, tag_of(code), 0.5
            kept[code] = n
    for used in (1_024, 2_048):
        half = cells[:used].copy()
        double(cells, used)
        assert np.array_equal(cells[: 2 * used], merge.doubled(half))
        for code, n in kept.items():
            assert cells[place_of(cells, 2 * used, code), COUNT] == 1 + n
    assert np.count_nonzero(cells[:, COUNT]) == len(kept)


def test_memory_is_bounded_however_many_names_there_are() -> None:
    """And who comes often stays: those that come once age away."""
    kernels = Kernels(Contexts(n_cells=1_024), 2, 2)
    rng = np.random.default_rng(0)
    before = len(kernels.memory.state)
    usual = [boxed_name(f"often {i}") for i in range(20)]
    for block in range(20):
        x = np.full((200, 2), boxed_name("same"))
        x[:, 0] = [boxed_name(f"once {block} {i}") for i in range(200)]
        x[::4, 0] = rng.choice(usual, 50)
        kernels.rows(x, rng.integers(0, 2, 200))
    assert len(kernels.memory.state) == before and kernels.own["running"][at.USED] == 1_024
    kernels.predict(np.array([usual[0], boxed_name("same")]))
    own = kernels.own
    known = [kernels.predict(np.array([u, boxed_name("same")])) is not None and
             bool(own["asked"][at.PLACE, 0] >= 0) for u in usual]  # fmt: skip
    assert sum(known) >= 15


# ---- fields


def test_sets_do_not_hang_on_the_order_in_which_fields_appear() -> None:
    hashes = [int(h) for h in np.random.default_rng(1).integers(1, 2**48, 20)]
    sets = sets_of(hashes, 128, 5)
    assert len(sets) == 128 == len(set(sets)) and max(map(len, sets)) == 2
    assert {frozenset(hashes[i] for i in s) for s in sets} == {
        frozenset(hashes[::-1][i] for i in s) for s in sets_of(hashes[::-1], 128, 5)
    }
    assert len(sets_of(hashes[:7], 128, 5)) == 7 + 21 + 35 + 35 + 21
    assert len(sets_of(hashes[:1], 128, 5)) == 1 and sets_of([], 128, 5) == []


def test_sets_that_remain_keep_their_weights_when_a_field_comes() -> None:
    model = ContextsClassifier(n_cells=1_024)
    x, y = named(5, 300)
    model._test_then_learn_rows(list("abcd"), x[:, :4].copy(), y.tolist(), np.ones(300))
    before = weights_of(model)
    model._test_then_learn_rows(list("abcde"), x[:0], [], np.ones(0))
    model._make_room(list("abcde"), [])
    after = weights_of(model)
    assert len(before) == 15 and len(after) == 31
    assert {fields: after[fields] for fields in before} == before
    assert all(after[fields] == 1 / 31 for fields in after if fields not in before)


def weights_of(model: LocalClassifier) -> dict[frozenset[Any], float]:
    """Return the weight of each set of fields, by their names."""
    own, names = own_of(model), model._features.names
    n = int(own["running"][at.N_SETS])
    return {
        frozenset(names[own["fields"][s]] for s in fields if s < at.FIELDS): float(weight)
        for fields, weight in zip(own["sets"][:n], own["weights"][at.VALUE, 1:], strict=False)
    }


def test_beyond_so_many_fields_each_stands_alone() -> None:
    """And keeps the weight that it had; a column that is derived is none."""
    n = at.FIELDS
    kernels = Kernels(Contexts(n_cells=1_024), n, 2)
    x = np.full((60, n), np.nan)
    x[:, 3] = [boxed_name("yes" if i % 2 else "no") for i in range(60)]
    kernels.rows(x, np.arange(60) % 2)
    assert kernels.own["running"][at.WIDE] == 0
    before = kernels.own["weights"][at.VALUE, 1 + 3]
    new = kernels.memory.grown(n + 2, 2)
    kernels.memory.carry_to(new)
    new.introduce(n, np.array([0, 77]))
    kernels.memory = new
    own = kernels.own
    assert own["running"][at.WIDE] == 1 and own["weights"][at.VALUE, 1 + 3] == before
    row = np.full(n + 2, np.nan)
    row[[3, n]] = boxed_name("yes")
    assert kernels.predict(row)[1] > 0.9
    assert own["n_asked"][0] == 1, "what is missing says nothing among so many"
    row[n + 1] = 0.5
    kernels.learn(row, 1)
    assert own["n_asked"][0] == 2 and kernels.memory.sound()


# ---- growing, merging, warm starts


def test_classes_come_one_after_the_other() -> None:
    """Two share a number; with very many there are fewer cells, and the rarer go."""
    model = ContextsClassifier(n_cells=2**11)
    x, y = named(6, 600, 5)
    order = np.argsort(y, kind="stable")
    rows = [{j: text_of(v) for j, v in enumerate(row)} for row in x.tolist()]
    for i in [*order, *range(len(y))]:
        model.learn_one(rows[i], y[i])
    assert sound(model)
    table = own_of(model)["table"]
    taken = table[table[:, COUNT] > 0]
    assert taken[:, SHARES:].sum(axis=1) == pytest.approx(np.ones(len(taken)), abs=1e-4)
    assert np.mean([model.predict_one(rows[i]) == y[i] for i in range(len(y))]) > 0.8
    few, many = Contexts().sizes(5, 8), Contexts().sizes(5, 9)
    assert (few["cells"], many["cells"]) == (2**18, 2**17)


def test_a_table_of_half_the_size_keeps_what_comes_most_often() -> None:
    kernels = Kernels(Contexts(n_cells=4_096), 5, 2)
    kernels.rows(*named(7, 600, 2))
    used = int(kernels.own["running"][at.USED])
    cells = kernels.own["table"][:used]
    half = merge.halved(cells)
    assert used == 4_096 and len(half) == used // 2
    often = cells[cells[:, COUNT] > 20]
    found = {(float(c[TAG]), float(c[COUNT])) for c in half}
    assert len(often) > 30 and all((float(c[TAG]), float(c[COUNT])) in found for c in often)


@pytest.mark.parametrize("classes", [2, 3])
def test_merged_models_know_what_either_knew(classes: int) -> None:
    boxes, y = named(8, 900, classes)
    x = framed(boxes)
    first = made("alone")
    first.learn_many(x[:100], y[:100])
    parts = [copy.deepcopy(first) for _ in range(2)]
    ours, theirs = (np.flatnonzero(np.arange(len(x)) % 2 == i) for i in range(2))
    for part, rows in zip(parts, (ours, theirs), strict=True):
        part.learn_many(x.iloc[rows], y[rows])
    model = parts[0].merge(parts[1:])
    assert sound(model) and everything(parts[1].merge([parts[0]])) == everything(model)
    right = [(m.predict_many(x) == y).mean() for m in (*parts, model)]
    assert right[2] >= min(right[:2]) - 0.01
    same = parts[0].merge([copy.deepcopy(parts[0])])
    assert everything(same) == everything(parts[0])


def test_models_that_met_fields_and_classes_in_another_order_are_merged() -> None:
    x, y = named(9, 400, 2)
    names = list("abcde")
    one, other = made("alone"), made("alone")
    one._test_then_learn_rows(names, x, y.tolist(), np.ones(len(x)))
    back = np.roll(np.arange(len(x)), -int(np.flatnonzero(y == 1)[0]))
    some, labels = x[back], y[back].tolist()
    other._test_then_learn_rows(names[:2], some[:50, :2].copy(), labels[:50], np.ones(50))
    other._test_then_learn_rows(names[::-1], some[:, ::-1].copy(), labels, np.ones(len(x)))
    assert y[0] == 0 and one.classes != other.classes
    model = one.merge([other])
    assert sound(model)
    right = [(np.array(m.classes)[m._proba_of(names, x)[1]] == y).mean() for m in (one, model)]
    assert right[0] > 0.7 and right[1] > right[0] - 0.02 and set(model.features) == set(names)


def test_history_is_learned_once() -> None:
    """A record of the second pass would be known by heart."""
    boxes, y = named(10, 500)
    x = framed(boxes)
    model = made("alone")
    model.warm_start(x, y, epochs=6)
    own = own_of(model)
    assert own["running"][at.SEEN] == 500 and own["running"][at.RESTING] == 0
    model.learn_many(x, y)
    assert own_of(model)["running"][at.SEEN] == 1_000


def test_late_labels_find_the_votes_counted_anew() -> None:
    """What is learned late is what is learned at once, since the values are in the record."""
    boxes, y = named(11, 300)
    x = framed(boxes)
    late, at_once = made("alone"), made("alone")
    for i in range(len(x)):
        late.predict_many(x[i : i + 1])
        if i >= 20:
            late.learn_many(x[i - 20 : i - 19], y[i - 20 : i - 19])
            at_once.learn_many(x[i - 20 : i - 19], y[i - 20 : i - 19])
    for name in ("table", "weights", "usual", "trust", "running"):
        assert np.array_equal(own_of(late)[name], own_of(at_once)[name]), name


# ---- explaining


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["alone", "committee"])
def test_an_explanation_adds_up_and_tells_which_contexts_spoke(kind: str, classes: int) -> None:
    boxes, y = named(12, 800, classes)
    x = framed(boxes)
    model = made(kind)
    model.learn_many(x, y)
    record = dict(x.iloc[5])
    for label in model.classes:
        told = model.explain_one(record, label)
        score = model.decision_function_one(record)[label]
        assert told.score == pytest.approx(score, abs=1e-6)
        total = told.bias + told.memory + sum(told.contributions.values())
        assert total == pytest.approx(score, abs=1e-6)
        assert sum(told.members.values()) == pytest.approx(score, abs=1e-6)
        sizes = [abs(one.contribution) for one in told.contexts]
        assert 0 < len(sizes) <= 10 and sizes == sorted(sizes, reverse=True)
        for one in told.contexts:
            assert set(one.counts) <= set(model.classes) and 0 < sum(one.counts.values()) <= 200
            assert set(one.values) <= set(record)


def test_alone_the_contributions_are_shapley_values() -> None:
    """Of the game in which a context speaks only if all its fields are known."""
    boxes, y = named(13, 600, 2)
    x = framed(boxes)
    model = made("alone")
    model.learn_many(x, y)
    told = model.explain_one(dict(x.iloc[7]), 1)
    assert model._state is not None
    own, views = own_of(model), model._state.views(0)
    (member,) = model._state.members
    asked = member.asked(own)
    # The score of a class is half the difference, times what the mixer makes of it.
    factor = model._state.trust[0] / np.sqrt(views["mixer"][1, 0]) / 2
    for field in range(5):
        part = sum(
            float(one.votes[0]) / len(one.parts)
            for one in asked
            if model._features.names.index(field) in [column for column, _, _ in one.parts]
        )
        assert told.contributions[field] == pytest.approx(factor * part, abs=1e-5)
    usual = factor * float(own["weights"][at.VALUE, 0] * own["told"][0])
    assert told.bias == pytest.approx(usual, abs=1e-5)
    assert told.reference == pytest.approx(usual, abs=1e-5)
