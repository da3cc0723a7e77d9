"""A model that finds out its features and classes as it goes: its state, and how it grows."""

from __future__ import annotations

import abc
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from stream_llsvm.kernels.run import USUALLY_NAMED
from stream_llsvm.locks import OneAtATime, locked
from stream_llsvm.members.base import Member
from stream_llsvm.model.description import convert, described
from stream_llsvm.model.file import ModelFileError, write
from stream_llsvm.model.foretold import Foretold
from stream_llsvm.model.pages import PAGE, fill, fit, pages_of
from stream_llsvm.model.reserve import LARGE
from stream_llsvm.model.room import CAP, BoundedModel, local_width, roomy
from stream_llsvm.model.state import UNBOUNDED, ModelState
from stream_llsvm.options import flag, whole
from stream_llsvm.records.columns import hashes_of, is_derived
from stream_llsvm.records.features import FeatureSpace
from stream_llsvm.records.labels import LabelSpace
from stream_llsvm.version import __version__

#: A saved model is at most twice as wide as its features are many, and so much.
_MOST_ROOM = 64
#: From when on a model expects to grow soon: when it is so full.
_NEARLY = 0.75
#: Options that may differ and change: they say how a model works, not what it is.
FREE = ("threads", "max_mb")


class GrowingModel(OneAtATime, BoundedModel):
    """Names, labels and the state that the kernels work on."""

    _state_of: type[ModelState] = ModelState

    def __init__(self, standardize: bool = True, max_mb: int = 1_024, seed: int = 0) -> None:
        super().__init__()
        self._lock = self._make_lock()
        self.standardize = flag("standardize", standardize)
        self.max_mb = whole("max_mb", max_mb, 1, 10**6)
        self.seed = whole("seed", seed, 0, 2**32 - 1)
        self._features = FeatureSpace()
        self._labels = LabelSpace()
        self._state: ModelState | None = None

    @abc.abstractmethod
    def _members(self) -> Sequence[Member]:
        """Return what the classifier is made of."""

    def _rests_among_names(self, member: Member) -> bool:
        """Whether a member rests from where records are found to name few of many features."""
        return False

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
        with self._lock:
            for name, value in new_attrs.items():
                setattr(self, name, value)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels seen so far, in order of appearance."""
        return self._labels.labels

    @property
    @locked
    def features(self) -> tuple[Hashable, ...]:
        """The names of the features seen so far."""
        return self._features.fields

    def _make_room(
        self,
        names: Iterable[Hashable],
        labels: Iterable[Hashable],
        named: Mapping[Hashable, float] = MappingProxyType({}),
    ) -> None:
        """Know these labels, and a record's features or these columns.

        A model that begins with sparse history is told which share of the records names each
        feature: where members see the first ones only, those that are named most come first.
        Raises before anything has changed.
        """
        features = self._features.unknown(names)
        classes = self._labels
        if any(classes.code(label) < 0 for label in labels):
            classes = LabelSpace(classes.labels)
            for label in labels:
                classes.add(label)
        before, known = self._state, len(self._features)
        held = 0 if before is None else before.width
        local = None if before is None or not before.is_capped else before.local_width
        if classes is not self._labels or known + len(features) > held:
            names_come = self._features.has_derived or is_derived(features)
            needed = known + len(features)
            local = self._local_for(needed, sum(named.values()), names_come=names_come)
            width = self._width_for(
                held,
                needed,
                len(classes),
                names_come=names_come,
                local=local,
                same_scores=classes is self._labels,
            )
        else:  # there is room: most records of a text bring a name
            width = held
        if before is None and local is not None:
            features.sort(key=lambda name: -named.get(name, 0.0))
        features = self._leave_out(features, width - known)
        if before is None:
            self._state = self._laid_out(width, len(classes), local)
            self._state.begin()
        elif width > held or len(classes) > before.n_classes:
            history = 0 if before.settled() else before.history_room
            self._state = self._laid_out(width, len(classes), local, history)
            before.carry_to(self._state)
        assert self._state is not None
        if self._state.is_capped and (before is None or not before.is_capped):
            self._state.let_rest(map(self._rests_among_names, self._state.members))
        self._features.append(features)
        if features:
            asks = self._state.asks_for_fields
            hashes = hashes_of(features) if asks else np.zeros(len(features), dtype=np.int64)
            self._state.introduce(known, hashes)
        if self._features.has_derived and (is_derived(features) or self._state is not before):
            self._state.share_out(self._features.shares())
        self._labels = classes
        if features and self._state.n_words >= LARGE:
            self._expect_growth(self._state)

    def _expect_growth(self, state: ModelState) -> None:
        """Let a wide model's last names before it grows fetch the memory that it grows into."""
        full = len(self._features) / state.width

        def larger() -> ModelState | None:
            names = self._features.has_derived
            width, n_classes, local = state.width, state.n_classes, state.local_width
            if not self._fits(width, n_classes, local):  # max_mb was lowered
                return None
            wider = self._width_for(width, width + 1, n_classes, names_come=names, local=local)
            return self._laid_out(wider, n_classes, local) if wider > width else None

        if full > _NEARLY and state.is_capped and state.history_room == 0:
            state.expect(larger, (full - _NEARLY) / (1 - _NEARLY))

    def _local_for(
        self, needed: int, named: float = 0.0, *, names_come: bool = False
    ) -> int | None:
        """Return how many columns capped members see if the model knows so many; None: all."""
        before, held = self._state, 0
        if before is not None:
            if before.is_capped:
                return before.local_width
            held = before.width
            named = float(before.views(0)["counters"][USUALLY_NAMED]) or named
        members = self._members() if before is None else before.members
        width = roomy(held, needed, names_come=names_come)
        sees_all = any(member.sees_all for member in members)
        return local_width(held, width, named) if sees_all and width > held else None

    def _laid_out(
        self, width: int, n_classes: int, local: int | None = None, history: int = 0
    ) -> ModelState:
        """Return a state of that size; nothing is allocated yet.

        Capped members see ``local`` columns of it (all, if that is None), and what remembers
        records has room for so many of history.
        """
        return self._state_of(
            [member.with_history_room(history) for member in self._members()]
            if history
            else self._members(),
            width,
            n_classes,
            standardize=self.standardize,
            budget=self._budget,
            local_width=local,
        )

    def _bytes(self, width: int, scores: int, local: int | None = None) -> int:
        # A second class comes to every model: names shall not have taken its room.
        return self._laid_out(width, max(2, scores), local).n_bytes

    def _make_history_room(self, records: int) -> None:
        """Make room for what remembers records to remember so many of history, if they fit."""
        state = self._state
        assert state is not None
        history = max(records, 0 if state.settled() else state.history_room)
        local = state.local_width if state.is_capped else None
        larger = self._laid_out(state.width, state.n_classes, local, history)
        while larger.n_bytes > self.max_mb * 2**20 and history > 1:
            history //= 2
            larger = self._laid_out(state.width, state.n_classes, local, history)
        if larger.n_words > state.n_words:
            self._move_to(larger)

    def _give_back(self) -> None:
        """Give back the room that history took, once nothing needs it any more."""
        state = self._state
        if state is None or state.history_room == 0 or not state.settled():
            return
        # Of a smaller model fewer predictions may wait.
        if len(state.foretold().entries) == 0:
            local = state.local_width if state.is_capped else None
            self._move_to(self._laid_out(state.width, state.n_classes, local))

    def _move_to(self, state: ModelState) -> None:
        """Carry the model over to a state that knows the same features and classes."""
        assert self._state is not None
        self._state.carry_to(state)
        self._state = state
        if self._features.has_derived:
            state.share_out(self._features.shares())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all; `load_model` reads it.

        Parameters
        ----------
        path
            Where to. An existing file is replaced.

        """
        write(path, self._payload())

    @locked
    def _payload(self) -> dict[str, object]:
        """Return what a file holds; nothing in it changes any more."""
        self._give_back()
        memory = self._state
        state, pages = (None, None) if memory is None else pages_of(memory.state)
        return {
            "version": __version__,
            "class": type(self).__name__,
            "params": self._saved_params(),
            "features": self._features.saved,
            "labels": self._labels.labels,
            "width": 0 if memory is None else memory.width,
            "local_width": 0 if memory is None else memory.local_width,
            "history_room": 0 if memory is None else memory.history_room,
            "state": state,
            "pages": pages,
            "sections": None if memory is None else described(memory),
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
            local = payload["local_width"]
            if not min(width, CAP) <= local <= width:
                raise ModelFileError("the model file's local width does not fit its width")
            history = payload.get("history_room", 0)
            if type(history) is not int or history < 0:
                raise ModelFileError("the model file's room for history is no number of records")
            memory = self._laid_out(width, len(labels), local, history)
            pages = payload.get("pages")
            if pages is None:  # as older versions wrote it, and whole
                pages = np.packbits(np.ones(-(-memory.n_words // PAGE), dtype=np.bool_))
            told = payload.get("sections")
            if told is None or told == described(memory):
                if not fit(memory.n_words, state, pages):
                    raise ModelFileError("the model file's state does not fit its options")
                memory.allocate()
                fill(memory.state, state, pages)
            else:
                convert(memory, told, state, pages, payload.get("version"))
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
