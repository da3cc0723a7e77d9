"""A model's state: the block of words, the plan of what lies where, and how it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.calibration import BINS, PRIOR, WIDEST
from stream_llsvm.kernels.dispatch import address_of, number_of
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.kernels.mixer import (
    ALONE,
    ALONE_EFFORT,
    AWAKE,
    EFFORT,
    FIRST_TRUST,
    JUDGED,
    OWN_ACCURACY,
    OWN_LOSS,
    POWER,
    SINCE,
    TRUST,
)
from stream_llsvm.kernels.pending import DIGEST, place_of
from stream_llsvm.kernels.pending import SINCE as FORETOLD_SINCE
from stream_llsvm.kernels.piece_loops import PIECE
from stream_llsvm.kernels.pieces import most_pieces
from stream_llsvm.kernels.run import SEEN, WAITING, SharedState, run
from stream_llsvm.kernels.scaling import BORN, MANY, NEVER_NEGATIVE
from stream_llsvm.kernels.sections import Section, own_sizes, sections_of
from stream_llsvm.members.interface import Member, Shape
from stream_llsvm.model.notices import announce
from stream_llsvm.model.rows import Rows
from stream_llsvm.model.threads import run_on_threads

_BYTES = {"f4": 4, "f8": 8, "i8": 8}
_WORD = 8
_CACHE_LINE = 8  # words
_CHUNK_FLOATS = 131_072  # scaled rows of one chunk: 512 kB, so that they stay in cache
_LONGEST_CHUNK = 256
# Predictions that may wait for their labels: so many, and at most twice what the model needs.
_MOST_FORETOLD, _FORETOLD_WORDS = 4_096, 2**18
_ENDLESS = 2**53
UNBOUNDED = 2**62


def _places(words: int, scores: int) -> int:
    """Return how many predictions of so many scores may wait: a power of two."""
    most = 2 * min(words, _FORETOLD_WORDS) // max(1, scores)
    return 1 << max(0, min(most, _MOST_FORETOLD).bit_length() - 1)


def _on_lines(words: int) -> NDArray[np.float64]:
    """Return zeros that begin where a line of the processor's cache does, as sections do.

    Numpy's own begin anywhere: each vector would lie in two lines, and be read in twice the time.
    """
    zeros = np.zeros(words + _CACHE_LINE)
    first = -zeros.ctypes.data // _WORD % _CACHE_LINE
    return zeros[first : first + words]


def columns_of(n_classes: int) -> int:
    """Return how many scores an expert gives: two classes share one."""
    return 1 if n_classes <= 2 else n_classes


class Foretold(NamedTuple):
    """Predictions that wait for their labels: of which records, and the experts' scores."""

    entries: NDArray[np.int64]
    scores: NDArray[np.float32]


class ModelState:
    """State, scratch and plan of a classifier over ``width`` features and ``n_classes`` classes.

    Parameters
    ----------
    members
        What the classifier is made of.
    width
        How many features there is room for.
    n_classes
        How many classes are known.
    standardize
        Whether features are scaled.
    budget
        Multiply-adds per record; where the members cost more, some of them sleep.

    """

    def __init__(
        self,
        members: Sequence[Member],
        width: int,
        n_classes: int,
        *,
        standardize: bool,
        budget: int = UNBOUNDED,
    ) -> None:
        self.members = tuple(members)
        self.width, self.n_classes = width, n_classes
        self.standardize, self.budget = standardize, budget
        self.plan, self._places, self._words = self._laid_out()
        self.state = np.zeros(0)

    def _laid_out(self) -> tuple[NDArray[np.int64], list[dict[str, Any]], dict[str, int]]:
        shape = self.shape
        chunk = min(_LONGEST_CHUNK, max(1, _CHUNK_FLOATS // max(1, self.width)))
        experts = [member.experts(*shape) for member in self.members]
        model = {
            "width": self.width,
            "classes": self.n_classes,
            "columns": shape[1],
            "all_experts": sum(experts),
            "all_members": len(self.members),
            "chunk": chunk,
            "chunk_ends": chunk + 1,
            "standardize": int(self.standardize),
            "learn_scales": 1,
            "learn_members": 1,
            "learn_mixer": 1,
            "redraws": chunk // PERIOD + 2,
            "budget": self.budget,
            "stage": at.ALL_STAGES,
            "keep": 1,
            "packed_rows": chunk if self.width >= MANY else 0,
            "most_pieces": most_pieces(self.width),
            "most_packed": most_pieces(self.width) * PIECE,
        }
        plan = np.zeros((1 + len(self.members), at.PLAN_WIDTH), dtype=np.int64)
        words = {"state": 0, "scratch": 0}
        places: list[dict[str, Any]] = [{} for _ in range(1 + len(self.members))]

        def put(row: int, j: int, section: Section, sizes: dict[str, int]) -> None:
            extent = tuple(n if isinstance(n, int) else sizes[n] for n in section.flat_dimensions)
            count, where = prod(extent), section.where
            plan[row, at.FIRST_SECTION + j] = words[where]
            places[row][section.name] = (words[where], count, section.type, extent, where)
            lines = -(-count * _BYTES[section.type] // (_WORD * _CACHE_LINE))
            words[where] += lines * _CACHE_LINE

        def waits(section: Section) -> bool:
            """Whether its size depends on how large the model is."""
            return "n_foretold" in section.flat_dimensions

        first = 0
        for row, section_kind in enumerate([SharedState, *(m.state for m in self.members)]):
            sizes = dict(model)
            if row > 0:
                member, own = self.members[row - 1], experts[row - 1]
                sizes |= member.sizes(*shape) | {
                    "kind": number_of(member.kernels),
                    "metric": member.metric,
                    "first_expert": first,
                    "experts": own,
                    "cost": member.cost(*shape),
                }
                first += own
                columns = at.MEMBER_COLUMNS | own_sizes(section_kind)
            else:
                columns = at.MODEL_COLUMNS
            for name, column in columns.items():
                plan[row, column] = sizes.get(name, 0)
            for j, section in enumerate(sections_of(section_kind)):
                if not waits(section):
                    put(row, j, section, sizes)
        foretold = _places(2 * words["state"], sum(experts) * shape[1])
        plan[0, at.FORETOLD] = foretold
        for j, section in enumerate(sections_of(SharedState)):
            if waits(section):
                put(0, j, section, model | {"n_foretold": foretold})
        return plan, places, words

    @property
    def shape(self) -> Shape:
        """Features there is room for, and columns."""
        return self.width, columns_of(self.n_classes)

    @property
    def n_words(self) -> int:
        """How many words the state takes."""
        return self._words["state"]

    @property
    def n_bytes(self) -> int:
        """How many bytes state and scratch take."""
        return _WORD * sum(self._words.values())

    def allocate(self, state: NDArray[np.float64] | None = None) -> None:
        """Make the arrays: zeros, or a copy of the state given, and scratch."""
        self.state = _on_lines(self.n_words)
        if state is not None:
            self.state[:] = state
        self._make_scratch()

    def _make_scratch(self) -> None:
        self.scratch = _on_lines(self._words["scratch"])
        self._ready = False
        self._keeps = bool(self.plan[0, at.KEEP])
        self._last = self._last_flat = np.zeros(0)  # the last single row, and the view that is run
        # What a call with a single row needs; made once, since making four arrays costs more
        # than the call.
        self._unlabelled = np.full(1, -1, dtype=np.int64)
        self._one_label = np.full(1, -1, dtype=np.int64)
        self._one_importance = np.ones(1)
        self.one_proba = np.zeros((1, self.n_classes))
        self.one_likeliest = np.zeros(1, dtype=np.int64)

    def begin(self) -> None:
        """Allocate, and fill in the first state."""
        self.allocate()
        mixer = self.views(0)["mixer"]
        if mixer.size > 0:
            mixer[TRUST] = FIRST_TRUST / mixer.shape[1]
            mixer[POWER] = 1
            for row in self.plan[1:]:
                own = slice(row[at.FIRST_EXPERT], row[at.FIRST_EXPERT] + row[at.OWN_EXPERTS])
                mixer[ALONE, own] = FIRST_TRUST / max(1, row[at.OWN_EXPERTS])
        self.views(0)["members"][AWAKE] = 1
        odds = np.linspace(0.0, WIDEST, BINS)
        others = max(1, self.n_classes - 1)
        self.views(0)["calibration"][:] = 1 / (1 + others * np.exp(-odds)), np.full(BINS, PRIOR)
        for i, member in enumerate(self.members):
            member.begin(self.views(1 + i), *self.shape)

    def views(self, row: int) -> dict[str, NDArray[Any]]:
        """Return the sections of a row of the plan (0: the model), as arrays into the block."""
        found = {}
        for name, (start, count, kind, extent, where) in self._places[row].items():
            block = self.state if where == "state" else self.scratch
            n_words = -(-count * _BYTES[kind] // _WORD)
            found[name] = block[start : start + n_words].view(kind)[:count].reshape(extent)
        return found

    def grown(self, width: int, n_classes: int) -> ModelState:
        """Return a larger state that holds the same model; not yet allocated."""
        return ModelState(
            self.members, width, n_classes, standardize=self.standardize, budget=self.budget
        )

    def carry_to(self, new: ModelState) -> None:
        """Fill a state that ``grown`` made with this model."""
        new.begin()
        before, after = self.views(0), new.views(0)
        after["counters"][:] = before["counters"]
        after["statistics"][: self.width] = before["statistics"]
        kept = list(self._kept_experts(new))
        after["mixer"][:] = before["mixer"][:, kept]
        after["members"][:] = before["members"]
        # Predictions of experts that are gone cannot teach the mixer any more.
        if self.shape[1] == new.shape[1] and kept == list(range(before["mixer"].shape[1])):
            new.recall(self.foretold())
        if self.n_classes > 1:
            right, count = before["calibration"]
            # As the log odds are: 0 where all classes, now more of them, are alike.
            wrong = (1 - right) * (new.n_classes - 1) / (self.n_classes - 1)
            after["calibration"][:] = right / (right + wrong), count
        for i, member in enumerate(self.members):
            member.carry(self.views(1 + i), new.views(1 + i), self.shape, new.shape)

    def run(
        self,
        values: NDArray[np.float64],
        columns: NDArray[np.int64],
        starts: NDArray[np.int64],
        codes: NDArray[np.int64],
        importance: NDArray[np.float64] | None = None,
        likeliest: NDArray[np.int64] | None = None,
        proba: NDArray[np.float64] | None = None,
        threads: int = 1,
        *,
        keep: bool = True,
    ) -> None:
        """Predict each row and, if its code is not -1, learn it; fills likeliest and proba.

        Unless ``keep`` is false, predictions wait for their labels.
        """
        if not self._ready:
            self._get_ready()
        self.plan[0, at.KEEP] = self._keeps = keep
        n = len(codes)
        rows = Rows(
            values.reshape(-1),
            columns,
            starts,
            codes,
            np.ones(n) if importance is None else importance,
            np.zeros((n, self.n_classes)) if proba is None else proba,
            np.empty(n, dtype=np.int64) if likeliest is None else likeliest,
        )
        if threads > 1 and len(self.members) > 1:
            run_on_threads(self.state, self.scratch, self.plan, rows, threads)
        else:
            run(self.state, self.scratch, self.plan, *rows)

    def run_one(
        self,
        values: NDArray[np.float64],
        columns: NDArray[np.int64],
        starts: NDArray[np.int64],
        code: int = -1,
        importance: float = 1.0,
        *,
        keep: bool = True,
    ) -> None:
        """Predict a single row and, if its label's code is not -1, learn it.

        Fills ``one_proba`` and ``one_likeliest``.
        """
        if not self._ready:
            self._get_ready()
        # Writing into the plan and making a view each take as long as three features.
        if keep is not self._keeps:
            self.plan[0, at.KEEP] = self._keeps = keep
        if values is not self._last:
            self._last, self._last_flat = values, values.reshape(-1)
        # What is only predicted has an array of its own, which nothing is ever written into: a
        # call that was interrupted leaves no label for the next.
        label = self._unlabelled
        if code >= 0:
            label = self._one_label
            label[0] = code
            self._one_importance[0] = importance
        run(
            self.state,
            self.scratch,
            self.plan,
            self._last_flat,
            columns,
            starts,
            label,
            self._one_importance,
            self.one_proba,
            self.one_likeliest,
        )

    def _get_ready(self) -> None:
        """Compile or load the members' kernels; some models are only read and never come here."""
        kinds = [member.kernels for member in self.members]
        announce(run, *(kind.run for kind in kinds))
        self.plan[1:, at.KIND] = [number_of(kind) for kind in kinds]  # those of this process
        self.views(0)["addresses"][:] = [
            [address_of(kind.run) for kind in kinds],
            [address_of(m.kernels.together if m.answers_together else None) for m in self.members],
            [address_of(kind.asleep) for kind in kinds],
        ]
        self._ready = True

    def introduce(self, first: int, end: int) -> None:
        """Note that the features in these columns are named from the next record on."""
        model = self.views(0)
        model["statistics"][first:end, BORN] = model["counters"][SEEN]

    def go_live(self) -> None:
        """Bring the settings to what the members' options say."""
        for i, member in enumerate(self.members):
            member.go_live(self.views(1 + i))

    def foretold(self) -> Foretold:
        """Return the predictions that wait for their labels; copies."""
        model = self.views(0)
        taken = np.flatnonzero(model["foretold"][:, DIGEST])
        return Foretold(model["foretold"][taken], model["foretold_scores"][taken])

    def recall(self, foretold: Foretold) -> None:
        """Let these predictions wait for their labels, and no others.

        Raises ValueError if they cannot be what `foretold` gave (they may come from a file).
        """
        model = self.views(0)
        entries, scores = foretold
        places = place_of(entries[:, DIGEST], len(model["foretold"]))
        if (
            scores.shape != (len(entries), *model["foretold_scores"].shape[1:])
            or (entries[:, DIGEST] == 0).any()
            or (entries[:, FORETOLD_SINCE] < 0).any()
            or len(np.unique(places)) < len(places)
            or not np.isfinite(scores).all()
        ):
            raise ValueError("these are no predictions of this model")
        for name, values in (("foretold", entries), ("foretold_scores", scores)):
            model[name][:] = 0
            model[name][places] = values
        model["memo"][WAITING] = len(places)

    def _kept_experts(self, new: ModelState) -> Iterator[int]:
        for i, member in enumerate(self.members):
            first = self.plan[1 + i, at.FIRST_EXPERT]
            for own in member.kept_experts(self.shape, new.shape):
                yield int(first) + own

    def non_finite(self) -> int:
        """How many numbers of the state are NaN or infinite: none, unless something is wrong."""
        return sum(
            view.size - int(np.isfinite(view).sum())
            for row in range(len(self._places))
            for name, view in self.views(row).items()
            if self._places[row][name][4] == "state"
        )

    def sound(self) -> bool:
        """Whether the state is one that kernels can trust (it may come from a file)."""
        if self.non_finite() > 0:
            return False
        model = self.views(0)
        never_negative = (
            model["counters"],
            model["statistics"][:, NEVER_NEGATIVE],
            model["mixer"][[POWER, EFFORT, ALONE_EFFORT]],
            model["members"][[OWN_LOSS, OWN_ACCURACY, JUDGED, SINCE]],
        )
        if not np.isin(model["members"][AWAKE], (0, 1)).all():
            return False
        right, count = model["calibration"]
        if not ((right >= 0) & (right <= 1)).all() or (count < 0).any():
            return False
        # From here on a float counts no further.
        if (model["counters"] >= _ENDLESS).any():
            return False
        if any((view < 0).any() for view in never_negative):
            return False
        return all(m.sound(self.views(1 + i)) for i, m in enumerate(self.members))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        scratch = {
            "scratch", "_ready", "_keeps", "_last", "_last_flat", "_unlabelled", "_one_label",
            "_one_importance", "one_proba", "one_likeliest",
        }  # fmt: skip
        kept = {name: value for name, value in self.__dict__.items() if name not in scratch}
        return kept | {"foretold": self.foretold()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        foretold = state.pop("foretold")
        self.__dict__.update(state)
        # joblib's workers share a file that nobody may write; a model is its own.
        self.plan = np.require(self.plan, requirements=["C", "W", "E"])
        self.allocate(self.state)
        self.recall(foretold)
