"""A model that finds out its features and classes as it goes: its state, and how it grows."""

from __future__ import annotations

import abc
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stream_llsvm.members.base import Member
from stream_llsvm.model.file import ModelFileError, write
from stream_llsvm.model.foretold import Foretold
from stream_llsvm.model.pages import PAGE, fill, fit, pages_of
from stream_llsvm.model.room import BoundedModel
from stream_llsvm.model.state import UNBOUNDED, ModelState
from stream_llsvm.options import flag, whole
from stream_llsvm.records.columns import is_derived
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.labels import LabelSpace
from stream_llsvm.records.rows import Row
from stream_llsvm.version import __version__

#: A saved model is at most twice as wide as its features are many, and so much.
_MOST_ROOM = 64
#: Options that may differ and change: they say how a model works, not what it is.
FREE = ("threads", "max_mb")


class GrowingModel(BoundedModel):
    """Names, labels and the state that the kernels work on."""

    _state_of: type[ModelState] = ModelState

    def __init__(self, standardize: bool = True, max_mb: int = 1_024, seed: int = 0) -> None:
        super().__init__()
        self.standardize = flag("standardize", standardize)
        self.max_mb = whole("max_mb", max_mb, 1, 10**6)
        self.seed = whole("seed", seed, 0, 2**32 - 1)
        self._features = FeatureSpace()
        self._labels = LabelSpace()
        self._state: ModelState | None = None

    @abc.abstractmethod
    def _members(self) -> Sequence[Member]:
        """Return what the classifier is made of."""

    @property
    def _budget(self) -> int:
        return UNBOUNDED

    @property
    def _threads(self) -> int:
        return 1

    def _saved_params(self) -> dict[str, Any]:
        """Return the options as plain values, from which the model can be made again."""
        own: Any = self
        params: dict[str, Any] = own._get_params()
        return params

    @property
    def _mutable_attributes(self) -> set[str]:
        """The options that river's `mutate` may change."""
        return {name for name in FREE if hasattr(self, name)}

    def mutate(self, new_attrs: Mapping[str, Any]) -> None:
        """Change options of a model that has begun: ``max_mb``, or ``threads`` of a committee.

        Parameters
        ----------
        new_attrs
            The options, and what they are from now on.

        Examples
        --------
        >>> from stream_llsvm import CommitteeClassifier
        >>> model = CommitteeClassifier()
        >>> model.mutate({"threads": 2})
        >>> model.threads
        2

        """
        own: Any = self
        for name in new_attrs:
            if name not in self._mutable_attributes:
                may = ", ".join(sorted(self._mutable_attributes))
                raise ValueError(
                    f"{name!r} is not a mutable attribute of {type(self).__name__}: {may} may "
                    "change, any other option makes another model"
                )
        type(self)(**own._get_params() | dict(new_attrs))  # which checks them
        for name, value in new_attrs.items():
            setattr(self, name, value)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels seen so far, in order of appearance."""
        return self._labels.labels

    @property
    def features(self) -> tuple[Hashable, ...]:
        """The names of the features seen so far."""
        return self._features.fields

    def _make_room(self, names: Iterable[Hashable], labels: Iterable[Hashable]) -> None:
        """Know these labels, and a record's features or these columns.

        Raises before anything has changed.
        """
        features = self._features.unknown(names)
        classes = self._labels
        if any(classes.code(label) < 0 for label in labels):
            classes = LabelSpace(classes.labels)
            for label in labels:
                classes.add(label)
        known, held = len(self._features), 0 if self._state is None else self._state.width
        names_come = self._features.has_derived or is_derived(features)
        width = self._width_for(held, known + len(features), len(classes), names_come=names_come)
        features = self._leave_out(features, width - known)
        before = self._state
        if before is None:
            self._state = self._laid_out(width, len(classes))
            self._state.begin()
        elif width > held or len(classes) > before.n_classes:
            self._state = self._laid_out(width, len(classes))
            before.carry_to(self._state)
        assert self._state is not None
        self._features.append(features)
        if features:
            self._state.introduce(known, self._features.field_hashes(known))
        if self._features.has_derived and (is_derived(features) or self._state is not before):
            self._state.share_out(self._features.shares())
        self._labels = classes

    def _laid_out(self, width: int, n_classes: int) -> ModelState:
        """Return a state of that size; nothing is allocated yet."""
        return self._state_of(
            self._members(),
            width,
            n_classes,
            standardize=self.standardize,
            budget=self._budget,
        )

    def _bytes(self, width: int, scores: int) -> int:
        # A second class comes to every model: names shall not have taken its room.
        return self._laid_out(width, max(2, scores)).n_bytes

    def _run_one(
        self, memory: ModelState, row: Row, code: int = -1, importance: float = 1.0
    ) -> None:
        # A record with unknown features is encoded without them: its digest would not match when
        # its label comes, so that its prediction need not be kept.
        keep = not self._features.ignored
        memory.run_one(row.values, row.columns, row.starts, code, importance, keep=keep)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all; `load_model` reads it.

        Parameters
        ----------
        path
            Where to. An existing file is replaced.

        """
        write(path, self._payload())

    def _payload(self) -> dict[str, object]:
        """Return what a file holds; nothing in it changes any more."""
        memory = self._state
        state, pages = (None, None) if memory is None else pages_of(memory.state)
        return {
            "version": __version__,
            "class": type(self).__name__,
            "params": self._saved_params(),
            "features": self._features.saved,
            "labels": self._labels.labels,
            "width": 0 if memory is None else memory.width,
            "state": state,
            "pages": pages,
            "foretold": None if memory is None else memory.foretold()._asdict(),
        }

    def _restore(self, payload: Mapping[str, Any]) -> None:
        """Take over a saved state; raises ModelFileError if it is not one of this model's."""
        features, labels, state = (payload[name] for name in ("features", "labels", "state"))
        spaces = self._features.restored(features), LabelSpace(labels)
        if len(spaces[1]) != len(labels):
            raise ModelFileError("the model file names a label twice")
        if (state is None) != (len(labels) == 0):
            raise ModelFileError("the model file has labels without a state, or a state without")
        if state is not None:
            width = payload["width"]
            if not len(features) <= width <= 2 * len(features) + _MOST_ROOM:
                raise ModelFileError("the model file's width does not fit its features")
            memory = self._laid_out(width, len(labels))
            pages = payload.get("pages")
            if pages is None:  # as older versions wrote it, and whole
                pages = np.packbits(np.ones(-(-memory.n_words // PAGE), dtype=np.bool_))
            if not fit(memory.n_words, state, pages):
                raise ModelFileError("the model file's state does not fit its options")
            memory.allocate()
            fill(memory.state, state, pages)
            memory.share_out(spaces[0].shares())
            memory.go_live()
            if not memory.sound():
                raise ModelFileError("the model file's state holds impossible values")
            if payload.get("foretold") is not None:
                memory.recall(_foretold(payload["foretold"]))
            self._state = memory
        self._features, self._labels = spaces


def _foretold(payload: Mapping[str, Any]) -> Foretold:
    """Return predictions as a file has them, if they look like some."""
    entries, scores = payload["entries"], payload["scores"]
    if entries.dtype != np.int64 or scores.dtype != np.float32 or entries.shape[1:] != (2,):
        raise ValueError("what was foretold is damaged")
    return Foretold(entries, scores)
