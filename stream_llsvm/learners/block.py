"""Small models: one block of numbers that grows with features and columns, and river's way in.

For learners with a kernel of their own; those made of members and a mixer have a ``ModelState``.
"""

from __future__ import annotations

import abc
import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels.scaling import BORN
from stream_llsvm.model.file import ModelFileError, write
from stream_llsvm.model.notices import announce
from stream_llsvm.model.room import BoundedModel
from stream_llsvm.options import flag, whole
from stream_llsvm.records.features import FeatureSpace, Row
from stream_llsvm.records.frames import Matrix
from stream_llsvm.records.sparse import SparseRows

_WORD = 8
_LARGEST = 1e300


class BlockModel(BoundedModel):
    """Features' names, and a block of float64 numbers in named sections."""

    _scores_are = "scores"

    def __init__(self, standardize: bool, max_mb: int) -> None:
        super().__init__()
        self.standardize = flag("standardize", standardize)
        self.max_mb = whole("max_mb", max_mb, 1, 10**6)
        self._features = FeatureSpace()
        self._width = -1
        self._state: NDArray[np.float64] | None = None

    @property
    @abc.abstractmethod
    def _kernel(self) -> Any:
        """Return what is compiled before the first call."""

    @abc.abstractmethod
    def _layout(self, width: int, columns: int) -> dict[str, tuple[int, ...]]:
        """Return the sections of the block, and their shapes."""

    @abc.abstractmethod
    def _make_plan(self, width: int, columns: int, starts: Sequence[int]) -> list[int]:
        """Return the kernel's plan."""

    @abc.abstractmethod
    def _begin(self, views: dict[str, NDArray[np.float64]]) -> None:
        """Fill in settings, and what is not zero at first."""

    def _carry(
        self, old: dict[str, NDArray[np.float64]], new: dict[str, NDArray[np.float64]]
    ) -> None:
        """Move a state into a larger one."""
        for name, part in old.items():
            new[name][tuple(slice(0, extent) for extent in part.shape)] = part

    @property
    def _columns(self) -> int:
        return 1

    @property
    def _labels_saved(self) -> tuple[Any, ...]:
        return ()

    @property
    def features(self) -> tuple[Hashable, ...]:
        """The names of the features seen so far."""
        return self._features.names

    def _views(self) -> dict[str, NDArray[np.float64]]:
        assert self._state is not None
        return self._sections(self._state, self._layout(self._width, self._held_columns))

    @staticmethod
    def _sections(
        state: NDArray[np.float64], layout: Mapping[str, tuple[int, ...]]
    ) -> dict[str, NDArray[np.float64]]:
        found, start = {}, 0
        for name, shape in layout.items():
            size = math.prod(shape)
            found[name] = state[start : start + size].reshape(shape)
            start += size
        return found

    def _bytes(self, width: int, scores: int) -> int:
        return _WORD * sum(math.prod(shape) for shape in self._layout(width, scores).values())

    def _grow(self, names: Iterable[Hashable], columns: int) -> None:
        """Know these features, and have so many columns; raises before anything has changed."""
        unknown, known = self._features.unknown(names), len(self._features)
        held = 0 if self._state is None else self._width
        width = self._width_for(held, known + len(unknown), columns)
        unknown = self._leave_out(unknown, width - known)
        if self._state is None or (width, columns) != (self._width, self._held_columns):
            announce(self._kernel)
            before = None if self._state is None else self._views()
            self._allocate(width, columns)
            views = self._views()
            self._begin(views)
            if before is not None:
                self._carry(before, views)
        self._features.append(unknown)
        self._introduce(known, len(self._features))

    def _introduce(self, first: int, end: int) -> None:
        """Note that the features in these columns are named from the next record on."""
        views = self._views()
        views["statistics"][first:end, BORN] = views["head"][0]

    def _allocate(self, width: int, columns: int, state: NDArray[np.float64] | None = None) -> None:
        layout = self._layout(width, columns)
        sizes = [math.prod(shape) for shape in layout.values()]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int).tolist()
        self._width, self._held_columns = width, columns
        self._state = np.zeros(starts[-1]) if state is None else state
        self._plan = np.array(self._make_plan(width, columns, starts[:-1]), dtype=np.int64)
        self._make_scratch()

    def _make_scratch(self) -> None:
        # What a call with one row needs; making arrays costs more than the call.
        # A scaled row, and the scales side by side.
        self._scratch = np.zeros(max(1, 3 * self._width))
        self._no_target = np.full(1, np.nan)
        self._one_target = np.zeros(1)
        self._one_importance = np.ones(1)
        self._one_out = np.zeros((1, max(1, self._held_columns)))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        left_out = {"_scratch", "_no_target", "_one_target", "_one_importance", "_one_out"}
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._state is not None:
            # joblib's workers share a file that nobody may write; a model is its own.
            self._state = np.require(self._state, requirements=["C", "W", "E"])
            self._plan = np.require(self._plan, requirements=["C", "W", "E"])
            self._make_scratch()

    @abc.abstractmethod
    def _call(
        self,
        row: Row,
        targets: NDArray[np.float64],
        importance: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None:
        """Run the kernel."""

    def _score_one(self, x: Mapping[Any, Any]) -> NDArray[np.float64] | None:
        row = self._features.encode(x)
        if self._state is None:
            return None
        if self._features.ignored or not x:
            self._warn_of_unknown(x)
        self._call(row, self._no_target, self._one_importance, self._one_out)
        scores: NDArray[np.float64] = self._one_out[0]
        return scores

    def _learn_row(self, row: Row, target: float, weight: float) -> None:
        self._one_target[0] = target
        self._one_importance[0] = weight
        self._call(row, self._one_target, self._one_importance, self._one_out)

    def _score_rows(self, names: Sequence[Hashable], matrix: Matrix) -> NDArray[np.float64]:
        n = len(matrix)
        out = np.zeros((n, max(1, self._columns)))
        if self._state is not None and n > 0:
            self._warn_of_unknown_in(names, matrix)
            row = self._features.encode_many(names, matrix)
            self._call(row, np.full(n, np.nan), np.ones(n), out)
        return out

    @staticmethod
    def _named(names: Sequence[Hashable], matrix: Matrix) -> Sequence[Hashable]:
        """Return the features that a batch brings: of a sparse one, those that occur."""
        if isinstance(matrix, SparseRows):
            return [names[c] for c in np.unique(matrix.columns)]
        return names

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all; `load_model` reads it.

        Parameters
        ----------
        path
            Where to. An existing file is replaced.

        """
        write(path, self._payload())

    def _payload(self) -> dict[str, object]:
        params: Any = self
        return {
            "class": type(self).__name__,
            "params": params._get_params(),
            "features": self._features.names,
            "labels": self._labels_saved,
            "width": max(0, self._width),
            "state": None if self._state is None else self._state.view(np.uint8),
        }

    def _restore(self, payload: Mapping[str, Any]) -> None:
        """Take over a saved state; raises ModelFileError if it is not one of this model's."""
        features, state = payload["features"], payload["state"]
        space = FeatureSpace(features)
        if len(space) != len(features):
            raise ModelFileError("the model file names a feature twice")
        self._restore_labels(payload["labels"])
        if state is not None:
            width, columns = payload["width"], self._columns
            if not len(features) <= width <= 2 * len(features) + 64 or columns < 1:
                raise ModelFileError("the model file's width does not fit its features")
            words = sum(math.prod(shape) for shape in self._layout(width, columns).values())
            if state.dtype != np.uint8 or state.shape != (_WORD * words,):
                raise ModelFileError("the model file's state does not fit its options")
            block = np.frombuffer(state.tobytes()).copy()
            self._allocate(width, columns, block)
            if not (np.abs(block) < _LARGEST).all() or not self._sound(self._views()):
                raise ModelFileError("the model file's state holds impossible values")
            self._settle(self._views())
        self._features = space

    def _restore_labels(self, labels: tuple[Any, ...]) -> None:
        if labels:
            raise ModelFileError("the model file has labels, which a regressor does not")

    @abc.abstractmethod
    def _settle(self, views: dict[str, NDArray[np.float64]]) -> None:
        """Bring the settings to what the options say."""

    @abc.abstractmethod
    def _sound(self, views: dict[str, NDArray[np.float64]]) -> bool:
        """Whether the kernel can trust this state (it comes from a file)."""
