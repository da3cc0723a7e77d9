"""A model's state: its block of words, how it runs and grows; `layout` says what lies where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.kernels import plan as at
from stream_llsvm.kernels.ahead import compile_ahead
from stream_llsvm.kernels.calibration import BINS, PRIOR, WIDEST
from stream_llsvm.kernels.dispatch import SIGNATURE, address_of, number_of
from stream_llsvm.kernels.join import ALL, GAIN, OVER, SHARE
from stream_llsvm.kernels.mixer import (
    ALONE,
    AWAKE,
    JUDGED,
    ON_TOP_SIZE,
    POWER,
    SINCE,
    TRUST,
)
from stream_llsvm.kernels.run import RUN_TAKES, SEEN, TAUGHT, run
from stream_llsvm.kernels.scaling import BORN, MANY
from stream_llsvm.members.base import Member, Shape
from stream_llsvm.members.pooling import AS_THEY_ARE, Units
from stream_llsvm.model.foretold import Foretold, put_waiting, waiting_of
from stream_llsvm.model.layout import BYTES, WORD, Place, laid_out, zeros_on_lines
from stream_llsvm.model.notices import announce, show_progress
from stream_llsvm.model.reserve import Reserve
from stream_llsvm.model.rows import Rows
from stream_llsvm.model.scheduler import run_on_threads
from stream_llsvm.model.soundness import is_sound
from stream_llsvm.records.rows import Row, as_sparse

UNBOUNDED = 2**62


def columns_of(n_classes: int) -> int:
    """Return how many scores an expert gives: two classes share one."""
    return 1 if n_classes <= 2 else n_classes


class ModelState:
    """State, scratch and plan of a model over ``width`` features and ``n_classes`` classes.

    Its methods `run` and `run_one` are those of a classifier.

    Parameters
    ----------
    members
        What the model is made of.
    width
        How many features there is room for.
    n_classes
        How many classes are known.
    standardize
        Whether features are scaled.
    budget
        Multiply-adds per record; where the members cost more, more of them rest.
    local_width
        How many columns capped members see, the first ones; all of them if None.

    """

    #: The kernel that Python calls, and what it takes.
    _entry: Any = staticmethod(run)
    _takes: Any = RUN_TAKES
    #: What is never copied or pickled, since it can be made again.
    _made_again = frozenset(
        {
            "scratch", "_ready", "_keeps", "_last_row", "_asked", "_taught", "_unlabelled",
            "_one_label", "_one_importance", "one_proba", "one_likeliest", "_label", "_importance",
            "one_shares", "one_code", "_views", "_reserve",
        }
    )  # fmt: skip

    def __init__(
        self,
        members: Sequence[Member],
        width: int,
        n_classes: int,
        *,
        standardize: bool,
        budget: int = UNBOUNDED,
        local_width: int | None = None,
    ) -> None:
        self.members = tuple(members)
        self.width, self.n_classes = width, n_classes
        capped = any(member.capped for member in self.members)
        self.local_width = width if local_width is None or not capped else min(width, local_width)
        own = [self.local_width if member.capped else width for member in self.members]
        #: The model's shape, and that of each member: of capped ones, that of what they see.
        self.shapes: list[Shape] = [(each, columns_of(n_classes)) for each in (width, *own)]
        #: Which members want to know of which fields columns are.
        self._asks_for_fields = [
            i
            for i, member in enumerate(self.members)
            if type(member).introduce is not Member.introduce
        ]
        self.standardize, self.budget = standardize, budget
        self.plan, self._places, self._words = laid_out(
            self.members, self.shapes, n_classes, standardize=standardize, budget=budget
        )
        self.state = np.zeros(0)
        self._views: dict[int, dict[str, NDArray[Any]]] = {}
        self._shares: NDArray[np.float32] | None = None
        self._reserve: Reserve | None = None

    @property
    def shape(self) -> Shape:
        """Features there is room for, and columns."""
        return self.width, columns_of(self.n_classes)

    @property
    def history_room(self) -> int:
        """Records of history for which some member has room beyond what is usual."""
        return max((member.history_room for member in self.members), default=0)

    def settled(self) -> bool:
        """Whether no member needs more room than usual (again)."""
        return all(member.settled(self.views(1 + i)) for i, member in enumerate(self.members))

    @property
    def is_capped(self) -> bool:
        """Whether some members see the first columns only."""
        return self.local_width < self.width

    @property
    def n_words(self) -> int:
        """How many words the state takes."""
        return self._words["state"]

    @property
    def n_bytes(self) -> int:
        """How many bytes state and scratch take."""
        return WORD * sum(self._words.values())

    @property
    def places(self) -> list[dict[str, Place]]:
        """Where each section lies, by row of the plan (0: the model)."""
        return self._places

    def allocate(self, state: NDArray[np.float64] | None = None) -> None:
        """Make the arrays: zeros, or a copy of the state given, and scratch."""
        self._make_arrays(zeros_on_lines(self.n_words))
        if state is not None:
            self.state[:] = state

    def _make_arrays(self, zeros: NDArray[np.float64]) -> None:
        self.state, self._reserve = zeros, None
        self._make_scratch()

    def _make_scratch(self) -> None:
        self.scratch = zeros_on_lines(self._words["scratch"])
        self._views = {}
        if self._shares is not None:
            self.views(0)["shares"][:] = self.shares(self.width)
        self._ready = False
        self._keeps = bool(self.plan[0, at.MODEL_ROW.keep])
        # The last single row, and what the kernel is called with.
        self._last_row: Row | None = None
        self._asked: tuple[NDArray[Any], ...] = ()
        self._taught: tuple[NDArray[Any], ...] = ()
        # What a call with a single row needs; made once, since making four arrays costs more
        # than the call.
        self._unlabelled = np.full(1, -1, dtype=np.int64)
        self._one_label = np.full(1, -1, dtype=np.int64)
        self._one_importance = np.ones(1)
        self.one_proba = np.zeros((1, self.n_classes))
        self.one_likeliest = np.zeros(1, dtype=np.int64)
        # The same once more: Python reads and writes them in half the time.
        self._label = self._one_label.data
        self._importance: Any = self._one_importance.data
        self.one_shares, self.one_code = self.one_proba[0].data, self.one_likeliest.data

    def begin(self, zeros: NDArray[np.float64] | None = None) -> None:
        """Allocate, or take these zeros, and fill in the first state."""
        self._make_arrays(zeros_on_lines(self.n_words) if zeros is None else zeros)
        mixer = self.views(0)["mixer"]
        if mixer.size > 0:
            counted = int(self.plan[0, at.MODEL_ROW.paced_experts])
            mixer[POWER] = 1
            for i, member in enumerate(self.members):
                own = self.experts_of(i)
                mixer[TRUST, own] = member.first_trust / max(1, counted)
                mixer[ALONE, own] = member.first_trust / max(1, own.stop - own.start)
                if member.comes_on_top:
                    share = min(1.0, member.first_trust / max(1, counted))
                    mixer[POWER, own] = ON_TOP_SIZE**2
                    mixer[TRUST, own], mixer[ALONE, own] = share * ON_TOP_SIZE, ON_TOP_SIZE
        self.views(0)["members"][AWAKE] = 1
        self.views(0)["joined"][SHARE, ALL] = 1
        odds = np.linspace(0.0, WIDEST, BINS)
        others = max(1, self.n_classes - 1)
        self.views(0)["calibration"][:] = 1 / (1 + others * np.exp(-odds)), np.full(BINS, PRIOR)
        for i, member in enumerate(self.members):
            member.begin(self.views(1 + i), *self.shapes[1 + i])

    def views(self, row: int) -> dict[str, NDArray[Any]]:
        """Return the sections of a row of the plan (0: the model), as arrays into the block."""
        found = self._views.get(row)
        if found is None:
            found = self._views[row] = {}
            for name, (start, size, kind, extent, where) in self._places[row].items():
                block = self.state if where == "state" else self.scratch
                n_words = -(-size * BYTES[kind] // WORD)
                found[name] = block[start : start + n_words].view(kind)[:size].reshape(extent)
        return found

    def grown(self, width: int, n_classes: int, local_width: int | None = None) -> ModelState:
        """Return a larger state that holds the same model; not yet allocated.

        What capped members see stays as it is, unless it is given.
        """
        if local_width is None and self.is_capped:
            local_width = self.local_width
        return type(self)(
            self.members,
            width,
            n_classes,
            standardize=self.standardize,
            budget=self.budget,
            local_width=local_width,
        )

    def like(self) -> ModelState:
        """Return a state of the same layout, of which nothing is allocated yet."""
        new = object.__new__(type(self))
        new.__dict__ |= {k: v for k, v in self.__dict__.items() if k not in self._made_again}
        new.plan, new.state, new._views = self.plan.copy(), np.zeros(0), {}
        return new

    def carry_to(self, new: ModelState) -> None:
        """Fill a state that ``grown`` made with this model."""
        reserve = self._reserve
        fits = reserve is not None and reserve.zeros.size == new.n_words
        new.begin(reserve.zeros if reserve is not None and fits else None)
        ours, theirs = self.views(0), new.views(0)
        theirs["counters"][:] = ours["counters"]
        theirs["statistics"][: self.width] = ours["statistics"]
        kept = list(self._kept_experts(new))
        theirs["mixer"][:] = ours["mixer"][:, kept]
        theirs["members"][:] = ours["members"]
        theirs["joined"][:] = ours["joined"]
        theirs["errors"][:] = ours["errors"]
        # Predictions of experts that are gone cannot teach the mixer any more, and with a single
        # class none were made.
        fitting = self.n_classes > 1 and self.shape[1] == new.shape[1]
        if fitting and kept == list(range(ours["mixer"].shape[1])):
            new.recall(self.foretold())
        if self.n_classes > 1:
            right, count = ours["calibration"]
            theirs["calibration"][:] = right, count
            if new.n_classes > self.n_classes:
                # As the log odds are: 0 where all classes, now more of them, are alike.
                wrong = (1 - right) * (new.n_classes - 1) / (self.n_classes - 1)
                theirs["calibration"][0] = right / (right + wrong)
        for i, member in enumerate(self.members):
            before, after = self.shapes[1 + i], new.shapes[1 + i]
            old, own = self.views(1 + i), new.views(1 + i)
            saved = [name for name, place in self._places[1 + i].items() if place.where == "state"]
            alike = all(old[name].shape == own[name].shape for name in saved)
            if new.is_capped and before == after and alike:
                for name in saved:  # what a capped member knows stays as it is, to the bit
                    own[name][:] = old[name]
            else:
                member.carry(old, own, before, after)

    def expect(self, larger: Callable[[], ModelState | None], share: float) -> None:
        """Fetch such a share of the memory of the state that this one will be carried to."""
        if self._reserve is None and (state := larger()) is not None:
            self._reserve = Reserve(self, state)
        if self._reserve is not None:
            self._reserve.fetch(share)

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
        self.plan[0, at.MODEL_ROW.keep] = self._keeps = keep
        n = len(codes)
        row = self.as_taken(Row(values, columns, starts))
        rows = Rows(
            row.values.reshape(-1),
            row.columns,
            row.starts,
            codes,
            np.ones(n) if importance is None else importance,
            np.zeros((n, self.n_classes)) if proba is None else proba,
            np.empty(n, dtype=np.int64) if likeliest is None else likeliest,
        )
        if threads > 1 and len(self.members) > 1:
            run_on_threads(self.state, self.scratch, self.plan, rows, threads)
        else:
            run(self.state, self.scratch, self.plan, *rows)

    def as_taken(self, row: Row) -> Row:
        """Return rows as the kernels take them: where members are capped all are sparse."""
        return as_sparse(row) if self.is_capped and row.starts.size == 0 else row

    def run_one(
        self,
        row: Row,
        code: int = -1,
        importance: float = 1.0,
        *,
        keep: bool = True,
    ) -> None:
        """Predict a single row and, if its label's code is not -1, learn it.

        Fills ``one_proba`` and ``one_likeliest``, of which ``one_shares`` and ``one_code`` are
        views.
        """
        if row is not self._last_row or keep is not self._keeps:
            self._prepare_calls(row, keep=keep)
        if code < 0:
            run(*self._asked)
            return
        self._label[0], self._importance[0] = code, importance
        run(*self._taught)

    def _prepare_calls(self, row: Row, *, keep: bool) -> None:
        """Gather what `run_one` calls the kernel with; dense rows are the same all the time.

        What is only predicted has a label of its own, which nothing is ever written into: a call
        that was interrupted leaves no label for the next.
        """
        if not self._ready:
            self._get_ready()
        self.plan[0, at.MODEL_ROW.keep] = self._keeps = keep
        values, columns, starts = taken = self.as_taken(row)
        record = (self.state, self.scratch, self.plan, values.reshape(-1), columns, starts)
        answer = (self._one_importance, self.one_proba, self.one_likeliest)
        self._asked = (*record, self._unlabelled, *answer)
        self._taught = (*record, self._one_label, *answer)
        # What is made of a dense row is of this one only: the next one comes in the same array.
        self._last_row = row if taken is row else None

    def _get_ready(self) -> None:
        """Compile or load the members' kernels; some models are only read and never come here."""
        kinds = [member.kernels for member in self.members]
        # Of fewer features rows are never answered together: it would be compiled for nothing.
        wide = self.width >= MANY
        addressed = (
            [kind.run for kind in kinds],
            [m.kernels.together if wide and m.answers_together else None for m in self.members],
        )
        members = [one for row in addressed for one in row if one is not None]
        announce(self._entry, *members)
        wanted = [(self._entry, self._takes), *((one, SIGNATURE) for one in members)]
        compile_ahead(wanted, show_progress)
        # Those of this process.
        self.plan[1:, at.MEMBER_ROW.kind] = [number_of(kind) for kind in kinds]
        self.views(0)["addresses"][:] = [[address_of(one) for one in row] for row in addressed]
        self._ready = True

    @property
    def asks_for_fields(self) -> bool:
        """Whether a member wants to know of which fields columns are."""
        return bool(self._asks_for_fields)

    def introduce(self, first: int, hashes: NDArray[np.int64]) -> None:
        """Note that the columns from ``first`` on, of these fields, are named from now on."""
        model = self.views(0)
        model["statistics"][first : first + len(hashes), BORN] = model["counters"][SEEN]
        for i in self._asks_for_fields:
            seen = hashes[: max(0, self.shapes[1 + i][0] - first)]
            if len(seen) > 0:
                self.members[i].introduce(self.views(1 + i), first, seen)

    def share_out(self, shares: NDArray[np.float32]) -> None:
        """Let each of the columns known count by its share of a field's place.

        As a field's names come their columns' shares shrink; what was learned of them stays as it
        is, and is soon learned anew.
        """
        if self._shares is not None or (shares != 1).any():
            self._shares, self.plan[0, at.MODEL_ROW.shared_out] = shares, 1
            self.views(0)["shares"][:] = self.shares(self.width)

    def shares(self, n_features: int) -> NDArray[np.float32]:
        """Return the first columns' shares: 1 for a field's own."""
        found = np.ones(n_features, dtype=np.float32)
        if self._shares is not None:
            n = min(n_features, len(self._shares))
            found[:n] = self._shares[:n]
        return found

    def pool_units(
        self, memories: Sequence[ModelState], share: NDArray[np.float64], *, since: bool
    ) -> list[Units]:
        """Return how each model's answers become those of this one, which is their mean."""
        return [AS_THEY_ARE for _ in memories]

    def go_live(self) -> None:
        """Bring the settings to what the members' options say."""
        for i, member in enumerate(self.members):
            member.go_live(self.views(1 + i))

    def let_rest(self, rests: Iterable[bool]) -> None:
        """Let some members rest from now on, until they are woken as any that rests."""
        model = self.views(0)
        which = np.flatnonzero(np.fromiter(rests, dtype=np.bool_))
        model["members"][AWAKE, which] = model["members"][JUDGED, which] = 0
        model["members"][SINCE, which] = model["counters"][TAUGHT]

    def foretold(self) -> Foretold:
        """Return the predictions that wait for their labels; copies."""
        return waiting_of(self.views(0))

    def recall(self, foretold: Foretold) -> None:
        """Let these predictions wait for their labels, and no others.

        Raises ValueError if they cannot be what `foretold` gave (they may come from a file).
        """
        put_waiting(self.views(0), foretold)

    @property
    def trust(self) -> NDArray[np.float64]:
        """What each expert's normalised score of the last record is multiplied with in the end."""
        model, counted = self.views(0), int(self.plan[0, at.MODEL_ROW.counted_experts])
        trust: NDArray[np.float64] = model["mixer"][TRUST].copy()
        over, gain = model["joined"][SHARE, OVER], model["joined"][SHARE, GAIN]
        if over > 0 and gain > 0 and counted > 0 and model["squares"][counted:].any():
            trust *= model["joined"][SHARE, ALL]
            trust[counted:] += over * ON_TOP_SIZE
        return trust

    def experts_of(self, member: int) -> slice:
        """Return where the experts of a member stand among all."""
        row = self.plan[1 + member]
        first = int(row[at.MEMBER_ROW.first_expert])
        return slice(first, first + int(row[at.MEMBER_ROW.experts]))

    def _kept_experts(self, new: ModelState) -> Iterator[int]:
        for i, member in enumerate(self.members):
            first = self.experts_of(i).start
            for own in member.kept_experts(self.shapes[1 + i], new.shapes[1 + i]):
                yield first + own

    def non_finite(self) -> int:
        """How many numbers of the state are NaN or infinite: none, unless something is wrong."""
        return sum(
            view.size - int(np.isfinite(view).sum())
            for row in range(len(self._places))
            for name, view in self.views(row).items()
            if self._places[row][name].where == "state"
        )

    def sound(self) -> bool:
        """Whether the state is one that kernels can trust (it may come from a file)."""
        if self.non_finite() > 0:
            return False
        if not is_sound(self.views(0)):
            return False
        return all(m.sound(self.views(1 + i)) for i, m in enumerate(self.members))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        kept = {k: value for k, value in self.__dict__.items() if k not in self._made_again}
        return kept | {"foretold": self.foretold()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        foretold = state.pop("foretold")
        self.__dict__.update(state)
        # joblib's workers share a file that nobody may write; a model is its own.
        self.plan = np.require(self.plan, requirements=["C", "W", "E"])
        self.allocate(self.state)
        self.recall(foretold)
