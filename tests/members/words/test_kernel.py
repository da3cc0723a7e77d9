"""Words: what only they do. What any member does is tested where all are."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from stream_llsvm import CommitteeClassifier, ModelFileError, load_model
from stream_llsvm.kernels.scaling import MANY
from stream_llsvm.kernels.sections import own_sizes
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.load import from_payload
from stream_llsvm.members.words import kernel, merge
from stream_llsvm.members.words import state as at
from stream_llsvm.members.words.member import Words
from stream_llsvm.model.state import columns_of
from stream_llsvm.records.boxes import boxed_name
from tests.learners.support import everything, sound
from tests.learners.test_hostile_state import changed
from tests.oracle_compare import Kernels
from tests.oracle_parts import Array
from tests.oracle_state import close
from tests.oracle_words import BIAS, Name, WordsOracle

WIDTH, FIELD = 150, 3
Said = list[tuple[Hashable, float]]


def row_of(numbers: dict[int, float], words: Sequence[str] = ()) -> tuple[Array, Any]:
    """Return a sparse row, values and columns: numbers, and words that are all in one field."""
    entries = [(c, v) for c, v in numbers.items() if c != FIELD]
    entries += [(FIELD, boxed_name(word)) for word in words]
    entries.sort(key=lambda entry: entry[0])
    return np.array([v for _, v in entries]), np.array([c for c, _ in entries], dtype=np.int64)


def rows(seed: int, n: int, classes: int) -> list[tuple[dict[int, float], list[str], int]]:
    """Draw records that name some of many numbers, and some words, by their class."""
    rng = np.random.default_rng(seed)
    often = 3 / np.arange(1, WIDTH + 1)
    found = []
    for _ in range(n):
        label = int(rng.integers(classes))
        shift = np.roll(np.ones(WIDTH), 0)
        shift[label::classes] = 2.5
        named = np.flatnonzero(rng.random(WIDTH) < (often * shift).clip(0, 0.6)).tolist()
        numbers = {int(c): float(rng.integers(1, 4)) for c in named} or {9: 1.0}
        words = [f"w{label} {i}" for i in rng.integers(0, 8, rng.integers(0, 4))]
        found.append((numbers, sorted({*words, f"any {rng.integers(5)}"}), label))
    return found


def feed(kernels: Kernels, numbers: dict[int, float], words: Sequence[str], label: int,
         w: float = 1.0) -> Array:  # fmt: skip
    values, columns = row_of(numbers, words)
    starts = np.array([0, len(values)])
    return np.asarray(kernels.raw(values, columns, starts, np.array([label]), np.array([w]))[0][0])


def said(kernels: Kernels, numbers: dict[int, float], words: Sequence[str]) -> Said:
    """Return what the record last fed names, numbers as they were scaled."""
    values, columns = row_of(numbers, words)
    own = columns[~np.isnan(values)].tolist()
    z = kernels.memory.views(0)["z"][0, 0, : len(own)].tolist()
    numbers_said = [(column, value) for column, value in zip(own, z, strict=True) if value != 0]
    return [*((word, 1.0) for word in words), *numbers_said]


def place_of(kernels: Kernels, name: Hashable) -> int:
    """Return the row of a name."""
    if isinstance(name, int):
        return 1 + int(kernels.memory.plan[1, cells_column()]) + name
    return 0


def cells_column() -> int:
    return own_sizes(at.WordsState)["cells"]


def known(kernels: Kernels, named: Said) -> dict[Hashable, Name]:
    """Return what the kernel knows of the names of the record last fed, and of the bias."""
    own, classes = kernels.own, kernels.memory.n_classes
    columns = columns_of(classes)
    unit, tokens = own["running"][at.UNIT], own["tokens"][at.ROW].tolist()
    found = {}
    for i, name in enumerate([BIAS, *(name for name, _ in named)]):
        numbered = isinstance(name, int) or name == BIAS
        place = place_of(kernels, name) if numbered else tokens[i - 1]
        row = own["table"][place].astype(float)
        w, g, w2, g2, mean, spread = row[: at.NUMBERS * columns].reshape(at.NUMBERS, columns)
        counts = row[at.NUMBERS * columns :][:classes] / unit
        found[name] = Name(np.array([w, w2]), np.array([g, g2]), mean, 1 + spread, counts)
    return found


# ---- beside the oracle


@pytest.mark.parametrize("w", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("classes", [1, 2, 4])
def test_numbers_and_tokens_are_learned_as_the_oracle_does(classes: int, w: float) -> None:
    of = Words(n_cells=2**14)
    kernels, oracle = Kernels(of, WIDTH, classes), WordsOracle(of, WIDTH, classes)
    pushed = 0
    for numbers, words, label in rows(0, 150, classes):
        feed(kernels, numbers, words, -1)
        oracle.named = said(kernels, numbers, words)
        # Rounding must not add up from step to step.
        oracle.names |= known(kernels, oracle.named)
        own = kernels.own
        oracle.totals = own["totals"] / own["running"][at.UNIT]
        scores = oracle.score(np.zeros(0))
        close(kernels.scores, scores, 1e-4, "scores")
        feed(kernels, numbers, words, label, w)
        oracle.learn(label, w, kernels.scores)
        close(own["totals"] / own["running"][at.UNIT], oracle.totals, 1e-5, "totals")
        for name, now in known(kernels, oracle.named).items():
            for what, value in vars(oracle.names[name]).items():
                close(getattr(now, what), value, 2e-4, f"{what} of {name}")
        pushed += int(np.abs(scores).max() > 1)
    assert pushed > 50 or classes == 1


@pytest.mark.parametrize("before", [1, 2, 3])
def test_it_grows_as_the_oracle_does(before: int) -> None:
    of, after = Words(n_cells=2**14), before + 1
    kernels, oracle = Kernels(of, WIDTH, before), WordsOracle(of, WIDTH, before)
    for numbers, words, label in rows(1, 60, before):
        feed(kernels, numbers, words, label)
    numbers, words, _ = rows(1, 60, before)[-1]
    oracle.named = said(kernels, numbers, words)
    oracle.names |= known(kernels, oracle.named)
    oracle.totals = kernels.own["totals"] / kernels.own["running"][at.UNIT]
    oracle.grow(2 * WIDTH, after)
    kernels.grow(2 * WIDTH, after)
    feed(kernels, numbers, words, -1)
    for name, now in known(kernels, oracle.named).items():
        for what, value in vars(oracle.names[name]).items():
            close(getattr(now, what), value, 1e-5, f"{what} of {name}")
    oracle.named = said(kernels, numbers, words)
    close(kernels.scores, oracle.score(np.zeros(0)), 1e-4, "scores")


def test_counts_fade_and_are_counted_anew_in_time() -> None:
    """After 100,000 records the unit of counting would soon have no room in 4-byte floats."""
    kernels = Kernels(Words(n_cells=1_024), WIDTH, 2, standardize=False)
    feed(kernels, {5: 1.0, 7: 1.0}, ["a", "b"], 1)
    own = kernels.own
    own["running"][at.UNIT] *= 0.9e20
    own["totals"] *= 0.9e20
    own["table"][:, at.NUMBERS :] *= np.float32(0.9e20)
    before = known(kernels, said(kernels, {5: 1.0, 7: 1.0}, ["a", "b"]))
    for _ in range(400):
        feed(kernels, {9: 1.0}, [], 0)
    assert own["running"][at.UNIT] < 10 and kernels.memory.sound()
    row = own["table"][place_of(kernels, 5), at.NUMBERS :] / own["running"][at.UNIT]
    assert before[5].counts == pytest.approx([0, 1])
    assert row == pytest.approx([0, 0.9995**400], rel=1e-4)


# ---- where it says nothing


def test_dense_records_find_it_silent_and_leave_it_as_it_was() -> None:
    for width in (12, WIDTH):
        kernels = Kernels(Words(n_cells=1_024), width, 2)
        before = kernels.words()
        kernels.rows(np.random.default_rng(0).normal(size=(50, width)), np.arange(50) % 2)
        assert not kernels.scores.any() and not kernels.own["table"].any()
        assert len(before) == len(kernels.words())


def test_among_few_features_only_tokens_count() -> None:
    kernels = Kernels(Words(n_cells=1_024), 5, 2)
    assert kernels.memory.views(1)["table"].shape[0] == 1 + 1_024
    feed(kernels, {0: 1.0, 4: 2.0}, [], 1)
    assert not kernels.own["table"].any() and not kernels.scores.any()
    for _ in range(20):
        feed(kernels, {0: 1.0}, ["buy", "this", "now"], 1)
        feed(kernels, {0: 1.0}, ["see", "you", "soon"], 0)
    assert feed(kernels, {0: 1.0}, ["buy", "now", "or", "never"], -1)[1] > 0.8
    assert feed(kernels, {0: 1.0}, ["see", "you"], -1)[0] > 0.8


def test_streams_of_numbers_are_as_without_it() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(700, 6)), rng.integers(0, 3, 700)
    members = ("anchors:1", "anchors:8", "memory:70", "ferns:8")
    with_it, without = (
        CommitteeClassifier(members=own) for own in ((*members, "words:1024"), members)
    )
    assert with_it.test_then_learn(x, y).tolist() == without.test_then_learn(x, y).tolist()
    assert np.array_equal(with_it.predict_proba_many(x), without.predict_proba_many(x))


# ---- the same however records come

SOME = ("anchors:8", "prior:9", "words:1024")


def texts(seed: int, n: int, classes: int = 2) -> tuple[Any, NDArray[np.int64]]:
    """Draw a sparse matrix in which some words tell the class."""
    found = rows(seed, n, classes)
    x = np.zeros((n, WIDTH))
    for i, (numbers, _, _) in enumerate(found):
        x[i, list(numbers)] = list(numbers.values())
    return scipy.sparse.csr_matrix(x), np.array([label for _, _, label in found])


def own_of(model: LocalClassifier) -> dict[str, NDArray[Any]]:
    assert model._state is not None
    (row,) = (i for i, m in enumerate(model._state.members) if isinstance(m, Words))
    return model._state.views(1 + row)


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_batches_threads_and_files_are_the_same(classes: int, tmp_path: Path) -> None:
    x, y = texts(2, 500, classes)
    one, block, read, asked, threads = (CommitteeClassifier(members=SOME) for _ in range(5))
    threads.mutate({"threads": 2})
    told = [one.test_then_learn(x[i : i + 1], y[i : i + 1])[0] for i in range(len(y))]
    assert block.test_then_learn(x, y).tolist() == told
    assert threads.test_then_learn(x, y).tolist() == told
    for i in range(0, len(y), 89):
        read.learn_many(x[i : i + 89], y[i : i + 89])
        read.save(tmp_path / "model")
        again = load_model(tmp_path / "model")
        assert isinstance(again, CommitteeClassifier)
        read = again
    for i in range(len(y)):
        asked.predict_many(x[i : i + 1])
        asked.learn_many(x[i : i + 1], y[i : i + 1])
    assert everything(one) == everything(block) == everything(read)
    assert everything(one) == everything(asked) == everything(threads)
    assert sound(one) and own_of(one)["table"].any()


def messages(seed: int, n: int) -> list[tuple[dict[str, Any], str]]:
    """Draw records with a number and a text."""
    return [
        ({"length": float(len(numbers)), "text": " ".join([*words, "and so on"])}, f"k{label}")
        for numbers, words, label in rows(seed, n, 2)
    ]


def test_texts_are_learned_by_their_tokens() -> None:
    """In two fields the same word is two names; the number among few features is left to others."""
    model = CommitteeClassifier(members=("words:4096",))
    stream = messages(3, 400)
    hits = 0
    for i, (x, y) in enumerate(stream):
        hits += model.predict_one(x) == y and i >= 100
        model.learn_one(x, y)
    assert hits / 300 > 0.7 and sound(model)
    before = model.predict_proba_one(stream[-1][0])
    subject = {"length": 1.0, "subject": stream[-1][0]["text"]}
    model.learn_one({"subject": "an other text"}, "k0")
    assert model.predict_proba_one(stream[-1][0]) == pytest.approx(before, abs=0.2)
    told = model.decision_function_one(subject)
    assert abs(told["k0"]) < abs(model.decision_function_one(stream[-1][0])["k0"])


# ---- classes, merging, history


def test_classes_come_one_after_the_other() -> None:
    x, y = texts(4, 600, 5)
    model = CommitteeClassifier(members=("words:1024",))
    order = np.argsort(y, kind="stable")
    model.learn_many(x[order], y[order])
    model.learn_many(x, y)
    assert sound(model) and (model.predict_many(x) == y).mean() > 0.7


def test_with_very_many_classes_there_are_fewer_cells() -> None:
    few, many = Words().sizes(5, 1), Words().sizes(5, 100)
    assert (few["cells"], many["cells"]) == (2**16, 2**12)
    rows = np.arange(9 * 21, dtype=np.float32).reshape(9, 21)
    rows[[2, 7], 18:] = 0
    folded = merge.folded(rows, 4)
    assert folded[:, 0].tolist() == [rows[i, 0] for i in (0, 5, 6, 3, 8)]


@pytest.mark.parametrize("classes", [2, 3])
def test_merged_models_know_what_either_knew(classes: int) -> None:
    x, y = texts(5, 900, classes)
    first = CommitteeClassifier(members=("words:1024",))
    first.learn_many(x[:100], y[:100])
    parts = [copy.deepcopy(first) for _ in range(2)]
    for i, part in enumerate(parts):
        part.learn_many(x[i::2], y[i::2])
    model = parts[0].merge(parts[1:])
    assert sound(model) and everything(parts[1].merge([parts[0]])) == everything(model)
    right = [(m.predict_many(x) == y).mean() for m in (*parts, model)]
    assert right[2] >= min(right[:2]) - 0.01
    assert everything(parts[0].merge([copy.deepcopy(parts[0])])) == everything(parts[0])


def test_a_name_that_one_model_knows_keeps_its_weight_when_merged() -> None:
    x, y = texts(6, 300)
    first = CommitteeClassifier(members=("words:1024",), standardize=False)
    first.learn_many(x, y)
    with_it, without = copy.deepcopy(first), copy.deepcopy(first)
    rare = dict.fromkeys((1, 2, 149), 1.0)
    for _ in range(5):
        with_it.learn_one(rare, 1)
    column = first.features.index(149)
    own, other = own_of(with_it), own_of(without)
    other["table"][1 + 1_024 + column] = 0
    merged = own_of(with_it.merge([without]))["table"][1 + 1_024 + column]
    kept = own["table"][1 + 1_024 + column]
    assert merged[: at.NUMBERS] == pytest.approx(kept[: at.NUMBERS], rel=1e-5)
    counts = kept[at.NUMBERS :] / own["running"][at.UNIT]
    assert merged[at.NUMBERS :] == pytest.approx(counts / 2, rel=1e-5)


def test_models_that_met_names_and_classes_in_another_order_are_merged() -> None:
    x, y = texts(7, 500)
    records = [{f"w{c}": v for c, v in enumerate(row) if v} for row in x.toarray().tolist()]
    one, other = (CommitteeClassifier(members=("words:1024",)) for _ in range(2))
    one.learn_one(dict.fromkeys([f"w{c}" for c in range(WIDTH)], 1.0), int(y[0]))
    other.learn_one(dict.fromkeys([f"w{c}" for c in range(WIDTH)][::-1], 1.0), 1 - int(y[0]))
    for i in range(len(y)):
        one.learn_one(records[i], int(y[i]))
        other.learn_one(records[i], int(y[i]))
    assert one.classes != other.classes
    model = one.merge([other])
    assert sound(model)
    right = [np.mean([m.predict_one(r) == k for r, k in zip(records, y, strict=True)])
             for m in (one, model)]  # fmt: skip
    assert right[0] > 0.8 and right[1] > right[0] - 0.02


def test_history_is_counted_once() -> None:
    x, y = texts(8, 400)
    model = CommitteeClassifier(members=("words:1024",))
    model.warm_start(x, y, epochs=6)
    own = own_of(model)
    total = own["totals"].sum() / own["running"][at.UNIT]
    assert 300 < total < 500
    assert own["running"][[at.LEFT, at.RESTING]].tolist() == [1, 0]
    assert (model.predict_many(x) == y).mean() > 0.8


def test_late_labels_teach_what_labels_at_once_do() -> None:
    x, y = texts(9, 300)
    late, at_once = (CommitteeClassifier(members=("words:1024",)) for _ in range(2))
    for i in range(len(y)):
        late.predict_many(x[i : i + 1])
        if i >= 20:
            late.learn_many(x[i - 20 : i - 19], y[i - 20 : i - 19])
            at_once.learn_many(x[i - 20 : i - 19], y[i - 20 : i - 19])
    for name in ("table", "totals", "running"):
        assert np.array_equal(own_of(late)[name], own_of(at_once)[name]), name


# ---- explaining


@pytest.mark.parametrize("members", [("words:1024",), SOME])
@pytest.mark.parametrize("classes", [2, 3])
def test_an_explanation_adds_up(classes: int, members: tuple[str, ...]) -> None:
    x, y = texts(10, 500, classes)
    model = CommitteeClassifier(members=members)
    model.learn_many(x, y)
    for row in x[:5].toarray().tolist():
        record = {i: v for i, v in enumerate(row) if v}
        for label in model.classes:
            told = model.explain_one(record, label)
            score = model.decision_function_one(record)[label]
            assert told.score == pytest.approx(score, abs=1e-6)
            total = told.bias + told.memory + sum(told.contributions.values())
            assert total == pytest.approx(score, abs=1e-6)
            assert set(told.contributions) == set(record) and told.members["words:1024"] != 0


def test_alone_each_names_part_is_what_the_experts_have_of_it() -> None:
    """Also a text's: its tokens' together."""
    model = CommitteeClassifier(members=("words:1024",))
    for x, y in messages(11, 300):
        model.learn_one(x, y)
    record = {"length": 2.0, "text": "w1 1 w1 2 any 3"}
    told = model.explain_one(record, "k1")
    assert told.contributions["length"] == 0 and told.contributions["text"] != 0
    state = model._state
    assert state is not None
    model.predict_one(record)
    scores = state.views(0)["scores"][0, 0, :, 0].astype(float)
    own = own_of(model)
    rest = [*own["table"][0, [at.WEIGHT, at.LONG_WEIGHT]], 0.0, own["table"][0, at.MEAN]]
    totals = own["totals"] / own["running"][at.UNIT] + kernel.ALPHA
    rest[at.COUNTS] = np.log(totals[1] / totals[0])
    rms = np.sqrt(state.views(0)["mixer"][1])
    factor = state.trust / rms / 2
    assert told.contributions["text"] == pytest.approx(factor @ (scores - rest), abs=1e-4)


# ---- files that somebody made up


@pytest.mark.parametrize(
    ("section", "where", "value"),
    [
        ("running", at.UNIT, 0.5),
        ("running", at.UNIT, 1e25),
        ("running", at.TOKENS, -1.0),
        ("totals", 0, -1.0),
        ("totals", 0, 1e12),
        ("table", (0, at.WEIGHT), 1e9),
        ("table", (1, at.MEAN), -1e9),
        ("table", (1_030, at.SQUARES), -1.0),
        ("table", (1_030, at.SPREAD), 0.1),
        ("table", (1_030, at.SPREAD), -1.5),
        ("table", (1_030, at.NUMBERS), -1.0),
        ("table", (1_030, at.NUMBERS), 1e12),
        ("table", (7, at.LONG_WEIGHT), np.nan),
    ],
)
def test_a_file_with_an_impossible_state_is_refused(section: str, where: Any, value: float) -> None:
    model = CommitteeClassifier(members=("words:1024",))
    x, y = texts(12, 100)
    model.learn_many(x, y)
    from_payload(dict(model._payload()))
    with pytest.raises(ModelFileError):
        from_payload(changed(model, 1, section, where, value))


def test_records_that_count_as_millions_leave_it_sound() -> None:
    model = CommitteeClassifier(members=("words:1024",), standardize=False)
    x, y = texts(13, 300)
    model.learn_many(1e5 * x, y, 1e6)
    model.learn_many(x, 1 - y, 1e-3)
    assert sound(model)
    from_payload(dict(model._payload()))


def test_a_table_has_a_row_for_each_column_from_so_many_on() -> None:
    assert Words().sizes(MANY - 1, 1)["named"] == 0
    assert Words().sizes(MANY, 1)["named"] == MANY
    assert Words().sizes(10**7, 50)["named"] < 10**7
