"""Learn from history before going live: k-means anchors, then several passes, SAPL Algorithm 1.

Whom to trust is found out with three models that have each learned two thirds of the records, and
say what they think of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.mixer import EFFORT, POWER, TRUST
from stream_llsvm.kernels.plan import ALL_STAGES, FINISH, MODEL_ROW, PREPARE
from stream_llsvm.kernels.run import FRESH, SEEN
from stream_llsvm.kernels.scaling import observe_rows, scale_rows
from stream_llsvm.model.mixer_fit import fit_mixer
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.frames import Matrix
from stream_llsvm.records.rows import Row

_FOLDS, _FEWEST = 3, 30
#: Where weights are found at once, a part is held out.
_HELD_OUT, _MOST_HELD_OUT = 0.1, 2_000
#: Records that the mixer is fitted to; and numbers that experts say of them.
_MOST_TOLD, _TOLD_FLOATS = 20_000, 2_000_000
_MOST_CLUSTERED = 20_000
_CLUSTERED_FLOATS = 50_000_000
_BLOCK = 4_096
_PACE = 512  # records between two shorter steps

Order = NDArray[np.int64]


@dataclass
class History:
    """Records of the past, their labels' codes, and how much each counts."""

    features: FeatureSpace
    names: Sequence[Hashable]
    matrix: Matrix
    codes: NDArray[np.int64]
    importance: NDArray[np.float64]

    def blocks(self, order: Order) -> Iterator[tuple[Row, Order]]:
        """Yield the rows in this order, some at a time so that no second matrix is made."""
        for i in range(0, len(order), _BLOCK):
            rows = order[i : i + _BLOCK]
            yield self.features.encode_many(self.names, self.matrix[rows]), rows


def warm_start(
    memory: ModelState,
    history: History,
    epochs: int,
    rng: np.random.Generator,
    optimum: Callable[[ModelState, History, Order, int], None] | None = None,
) -> None:
    """Teach a model its history; scales first, then anchors, weights, and the mixer.

    The mixer must not learn whom to trust from records that the members know by heart: three times
    a third of the passes are over two thirds of the records, and experts are judged by the others.
    All that is then forgotten but what they said, and the members begin anew with all records.

    ``optimum``, if there is one, finds the weights at once, instead of the passes.
    """
    order = rng.permutation(len(history.matrix))
    _learn_scales(memory, history, order)
    for i, member in enumerate(memory.members):
        width = memory.shapes[1 + i][0]
        sample = partial(_sample, memory, history, order, width)
        member.place(memory.views(1 + i), sample, rng)
    before = memory.state.copy()
    folds = _folds(memory, order) if optimum is None else [_held_out(order)]
    told = []
    try:
        for held in folds:
            rehearsed = np.setdiff1d(order, held)
            memory.state[:] = before
            if optimum is not None:
                optimum(memory, history, rehearsed, epochs)
            else:
                _rehearse(memory, history, rehearsed, max(1, epochs // len(folds)), rng)
            _teach(memory)
            told.append(_say(memory, history, held))
        if optimum is None:
            memory.state[:] = before
            _rehearse(memory, history, order, epochs, rng)
    finally:
        memory.go_live()
        _teach(memory, MODEL_ROW.learn_mixer)
        if told:
            _teach_mixer(memory, history, np.concatenate(folds), np.concatenate(told))
        _teach(memory, MODEL_ROW.learn_scales, MODEL_ROW.learn_members, MODEL_ROW.learn_mixer)


def _folds(memory: ModelState, order: Order) -> list[Order]:
    """Return thirds of the records, or as many records of each as the mixer needs."""
    if len(order) < _FEWEST:
        return []
    numbers = memory.views(0)["normal"].size
    most = min(_MOST_TOLD, _TOLD_FLOATS // max(1, numbers)) // _FOLDS
    return [fold[: max(1, most)] for fold in np.array_split(order, _FOLDS)]


def _held_out(order: Order) -> Order:
    return order[: min(_MOST_HELD_OUT, int(_HELD_OUT * len(order)))]


def _rehearse(
    memory: ModelState, history: History, order: Order, epochs: int, rng: np.random.Generator
) -> None:
    """Let the members learn these records, pass after pass, in steps that shrink to nothing.

    What remembers records does so in the last pass.
    """
    _teach(memory, MODEL_ROW.learn_members)
    for epoch in range(epochs):
        for j, member in enumerate(memory.members):
            member.rehearse(memory.views(1 + j), last=epoch == epochs - 1)
        shuffled = rng.permutation(order)
        for begin in range(0, len(order), _PACE):
            _slow_down(memory, epoch * len(order) + begin, epochs, len(order))
            _learn(memory, history, shuffled[begin : begin + _PACE])


def _say(memory: ModelState, history: History, order: Order) -> NDArray[np.float32]:
    """Return what the experts say of records, (records, experts, columns); nothing is learned."""
    # What the last call left was perhaps another model's.
    model = memory.views(0)
    model["memo"][FRESH] = 0
    scores = model["scores"][0]
    told = np.zeros((len(order), *scores.shape[1:]), dtype=np.float32)
    for begin in range(0, len(order), len(scores)):
        some = order[begin : begin + len(scores)]
        rows = history.features.encode_many(history.names, history.matrix[some])
        memory.run(*rows, np.full(len(some), -1), keep=False)
        told[begin : begin + len(some)] = scores[: len(some)]
    model["memo"][FRESH] = 0
    return told


def _teach_mixer(
    memory: ModelState, history: History, order: Order, told: NDArray[np.float32]
) -> None:
    """Fit the mixer to what experts said; all else that it keeps is learned record by record."""
    if len(order) == 0:
        return
    model, codes, weights = memory.views(0), history.codes[order], history.importance[order]
    fit_mixer(memory, told.astype(np.float64), codes, weights)
    fitted = model["mixer"].copy(), model["joined"].copy()
    scores = model["scores"][0]
    try:
        for begin in range(0, len(order), len(scores)):
            part = slice(begin, begin + len(scores))
            rows = history.features.encode_many(history.names, history.matrix[order[part]])
            scores[: len(codes[part])] = told[part]
            for stage in (PREPARE, FINISH):
                memory.plan[0, MODEL_ROW.stage] = stage
                memory.run(*rows, codes[part], weights[part])
    finally:
        memory.plan[0, MODEL_ROW.stage] = ALL_STAGES
    rows_fitted = [TRUST, POWER, EFFORT]
    model["mixer"][rows_fitted], model["joined"][:] = fitted[0][rows_fitted], fitted[1]


def _slow_down(memory: ModelState, done: int, epochs: int, records: int) -> None:
    """Shorten steps, each member's from its first pass to its last; before that it rests."""
    for i, member in enumerate(memory.members):
        passes = min(epochs, member.passes)
        own = done - (epochs - passes) * records
        left = 1 - own / (passes * records) if own >= 0 else 0.0
        member.slow_down(memory.views(1 + i), left)


def _teach(memory: ModelState, *parts: int) -> None:
    """Choose what is learned from now on."""
    memory.plan[0, [MODEL_ROW.learn_scales, MODEL_ROW.learn_members, MODEL_ROW.learn_mixer]] = 0
    memory.plan[0, list(parts)] = 1


def _learn_scales(memory: ModelState, history: History, order: Order) -> None:
    model = memory.views(0)
    statistics, counters = model["statistics"], model["counters"]
    for rows, which in history.blocks(order):
        values = rows.values.reshape(-1)
        observe_rows(statistics, counters[SEEN], len(which), values, rows.columns, rows.starts)
        counters[SEEN] += len(which)


def _sample(
    memory: ModelState, history: History, order: Order, seen: int | None = None
) -> NDArray[np.float32]:
    """Return some of the records, scaled, for k-means: the first columns, as many as are seen."""
    width = len(history.features)
    rows = order[: min(_MOST_CLUSTERED, max(1, _CLUSTERED_FLOATS // max(1, width)))]
    encoded = history.features.encode_many(history.names, history.matrix[rows])
    z = np.zeros((len(rows), width), dtype=np.float32)
    statistics = memory.views(0)["statistics"]
    values = encoded.values.reshape(-1)
    scale_rows(statistics, memory.standardize, values, encoded.columns, encoded.starts, z)
    z *= memory.shares(width)
    return np.ascontiguousarray(z[:, :seen])


def _learn(memory: ModelState, history: History, order: Order) -> None:
    for rows, which in history.blocks(order):
        memory.run(*rows, history.codes[which], history.importance[which])
