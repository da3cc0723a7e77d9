"""Learn from history before going live: k-means anchors, then several passes, SAPL Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.plan import MODEL_ROW
from stream_llsvm.kernels.run import SEEN
from stream_llsvm.kernels.scaling import observe_rows, scale_rows
from stream_llsvm.model.state import ModelState
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.frames import Matrix
from stream_llsvm.records.rows import Row

_HELD_OUT = 0.1
_MOST_HELD_OUT = 2_000
_MOST_CLUSTERED = 20_000
_CLUSTERED_FLOATS = 50_000_000
_MIXER_PASSES = 5
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

    The members take two rounds of passes. In the first, a third of them, some records are held
    out for the mixer; the second begins with long steps again, and has all records.

    ``optimum``, if there is one, finds the weights at once, instead of the passes.
    """
    order = rng.permutation(len(history.matrix))
    n_held = min(_MOST_HELD_OUT, int(_HELD_OUT * len(order)))
    held, rehearsed = order[:n_held], order[n_held:]
    _learn_scales(memory, history, order)
    for i, member in enumerate(memory.members):
        member.place(memory.views(1 + i), lambda: _sample(memory, history, order), rng)
    try:
        if optimum is not None:
            optimum(memory, history, rehearsed, epochs)
        else:
            first = max(1, epochs // 3)
            passes = [rng.permutation(rehearsed) for _ in range(first)]
            _rehearse(memory, history, passes, remembered=True)
        # The mixer must not learn whom to trust from records that the members know by heart.
        _teach(memory, MODEL_ROW.learn_mixer)
        for _ in range(_MIXER_PASSES):
            _learn(memory, history, rng.permutation(held))
        if optimum is None:
            passes = [rng.permutation(order) for _ in range(epochs - first)]
            _rehearse(memory, history, passes, remembered=False)
            _meet(memory, history, held, live=epochs == 1)
    finally:
        memory.go_live()
        _teach(memory, MODEL_ROW.learn_scales, MODEL_ROW.learn_members, MODEL_ROW.learn_mixer)


def _rehearse(
    memory: ModelState, history: History, passes: Sequence[Order], *, remembered: bool
) -> None:
    """Let the members learn these records, pass after pass, in steps that shrink to nothing.

    What remembers records does so in the last pass, or not at all.
    """
    _teach(memory, MODEL_ROW.learn_members)
    done, total = 0, sum(len(order) for order in passes)
    for i, order in enumerate(passes):
        last = remembered and i == len(passes) - 1
        for j, member in enumerate(memory.members):
            member.rehearse(memory.views(1 + j), last=last)
        for begin in range(0, len(order), _PACE):
            _slow_down(memory, 1 - done / total)
            some = order[begin : begin + _PACE]
            _learn(memory, history, some)
            done += len(some)


def _meet(memory: ModelState, history: History, held: Order, *, live: bool) -> None:
    """Let what remembers records remember these. Unless ``live``, the others know them by now."""
    memory.go_live()
    _teach(memory, MODEL_ROW.learn_members)
    if not live:
        _slow_down(memory, 0.0)
    _learn(memory, history, held)


def _slow_down(memory: ModelState, left: float) -> None:
    for i, member in enumerate(memory.members):
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


def _sample(memory: ModelState, history: History, order: Order) -> NDArray[np.float32]:
    """Return some of the records, scaled, for k-means."""
    width = len(history.features)
    rows = order[: min(_MOST_CLUSTERED, max(1, _CLUSTERED_FLOATS // max(1, width)))]
    encoded = history.features.encode_many(history.names, history.matrix[rows])
    z = np.zeros((len(rows), width), dtype=np.float32)
    statistics = memory.views(0)["statistics"]
    values = encoded.values.reshape(-1)
    scale_rows(statistics, memory.standardize, values, encoded.columns, encoded.starts, z)
    z *= memory.shares(width)
    return z


def _learn(memory: ModelState, history: History, order: Order) -> None:
    for rows, which in history.blocks(order):
        memory.run(*rows, history.codes[which], history.importance[which])
