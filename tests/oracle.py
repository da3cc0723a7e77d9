"""The slow, obvious model that the whole kernel is compared with: scales, members, one mixer.

Plain float64 numpy, dense records, no tricks. What each member does is in a file of its own,
``oracle_anchors.py`` and so on; this one only passes the records around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from stream_llsvm.kernels import judge as judging
from stream_llsvm.kernels import mixer as mixing
from stream_llsvm.kernels.metric import PERIOD
from stream_llsvm.members.additive.member import Additive
from stream_llsvm.members.anchors.member import Anchors
from stream_llsvm.members.base import Member
from stream_llsvm.members.contexts.member import Contexts
from stream_llsvm.members.ferns.member import Ferns
from stream_llsvm.members.neighbours.member import Remembered
from stream_llsvm.members.prior.member import Prior
from stream_llsvm.members.trees.member import Trees
from stream_llsvm.members.waves.member import Waves
from stream_llsvm.members.words.member import Words
from stream_llsvm.model.state import columns_of
from tests.oracle_additive import AdditiveOracle
from tests.oracle_anchors import AnchorsOracle
from tests.oracle_calibration import Calibration
from tests.oracle_contexts import ContextsOracle
from tests.oracle_ferns import FernsOracle
from tests.oracle_memory import MemoryOracle, Neighbours
from tests.oracle_mixer import Mixed, Mixer, Report
from tests.oracle_parts import Array, Scale
from tests.oracle_prior import PriorOracle
from tests.oracle_trees import TreesOracle
from tests.oracle_waves import WavesOracle
from tests.oracle_words import WordsOracle


@dataclass
class Told:
    """What the kernel made of a record where rounding decides: checked, then taken as given."""

    z: Array
    scores: Array
    best: int
    near: dict[int, Neighbours] = field(default_factory=dict)


@dataclass
class Seen:
    """What the model makes of one record."""

    x: Array
    z: Array
    scores: Array
    mixed: Mixed
    #: What the mixer's answer is together with what comes on top.
    joint: Array
    #: What is answered: one of both.
    answer: Array
    best: int
    #: Each class's probability, calibrated.
    proba: Array


class MemberOracle(Protocol):
    """One member: scores a record, learns it, grows."""

    @property
    def experts(self) -> int: ...
    def score(self, z: Array) -> Array: ...
    def learn(self, label: int, w: float, scores: Array) -> None: ...
    def grow(self, width: int, classes: int) -> list[int]: ...


#: The kinds of members that the whole model is compared with.
ORACLES: dict[type[Member], Callable[[Any, int, int], MemberOracle]] = {
    Additive: AdditiveOracle,
    Anchors: AnchorsOracle,
    Contexts: ContextsOracle,
    Ferns: FernsOracle,
    Prior: PriorOracle,
    Remembered: MemoryOracle,
    Trees: TreesOracle,
    Waves: WavesOracle,
    Words: WordsOracle,
}


def member_oracle(of: Member, width: int, classes: int) -> MemberOracle:
    """Make the oracle of a member."""
    return ORACLES[type(of)](of, width, classes)


class Oracle:
    """Members and the mixer.

    Parameters
    ----------
    of
        The members, or the only one.
    width
        How many features are known.
    classes
        How many classes are known.
    standardize
        Whether features are scaled.

    """

    def __init__(
        self, of: Member | Sequence[Member], width: int, classes: int, *, standardize: bool = True
    ) -> None:
        self.standardize = standardize
        self.width, self.classes = width, classes
        all_of = of if isinstance(of, Sequence) else (of,)
        self.members = [member_oracle(m, width, classes) for m in all_of]
        self.scales = [Scale() for _ in range(width)]
        on_top = sum(m.experts for m in self.members if isinstance(m, ContextsOracle))
        trust = [
            m.first_trust
            for m, own in zip(all_of, self.members, strict=True)
            for _ in range(own.experts)
        ]
        seldom = sum(m.experts for m in self.members if isinstance(m, WordsOracle))
        self.mixer = Mixer(trust, classes, on_top, seldom)
        self.calibration = Calibration(classes)
        self.reports = [Report() for _ in self.members]
        #: Whether a member works, or rests.
        self.awake = [True for _ in self.members]
        #: After how many records that last changed.
        self.since = [0.0 for _ in self.members]
        for kind, (own, member) in zip(all_of, self._owners(), strict=True):
            alone = kind.first_trust / max(1, own.stop - own.start)
            if isinstance(member, ContextsOracle):
                alone = mixing.ON_TOP_SIZE
            self.mixer.alone[own] = alone
        self.seen = self.taught = 0

    def _owners(self) -> Iterator[tuple[slice, MemberOracle]]:
        """Yield each member, and which of the experts are its own."""
        first = 0
        for member in self.members:
            yield slice(first, first + member.experts), member
            first += member.experts

    @property
    def columns(self) -> int:
        """How many scores an expert gives."""
        return columns_of(self.classes)

    def look(self, x: Array, told: Told | None = None) -> Seen:
        """Score a record; NaN and ABSENT are missing."""
        z = np.array(
            [s.scaled(v, self.standardize, self.width) for s, v in zip(self.scales, x, strict=True)]
        )
        if told is not None:
            # A fern's answer may hang on the last bit of a value that equals its threshold.
            np.testing.assert_allclose(told.z, z, rtol=1e-5, atol=1e-5, err_msg="scaled values")
            z = told.z
        parts = []
        for i, member in enumerate(self.members):
            if isinstance(member, MemoryOracle) and told is not None and i in told.near:
                member.told = told.near[i]
            if isinstance(member, ContextsOracle):
                member.x = x  # whose names z does not have
            said = member.score(z) if self.awake[i] else 0
            parts.append(np.zeros((member.experts, self.columns)) + said)
        scores = np.concatenate(parts) if parts else np.zeros((0, self.columns))
        # Whether an expert says nothing at all is a matter of the last bit, too.
        mixed = self.mixer.mix(scores if told is None else told.scores)
        joint = self.mixer.join(mixed)
        answer = self.mixer.answer(mixed)
        best = int(np.argmax(answer)) if told is None else told.best
        assert answer[best] > answer.max() - 1e-4, "another class is likelier"
        calibrated = self.calibration.answer(answer, best)
        return Seen(x, z, scores, mixed, joint, answer, best, calibrated)

    def learn(self, seen: Seen, label: int, w: float = 1.0, told: Told | None = None) -> None:
        """Learn the record that was looked at last, which is of a known class."""
        self.seen += 1
        for scale, v in zip(self.scales, seen.x, strict=True):
            scale.observe(v, self.seen, self.width)
        scores = seen.scores if told is None else told.scores
        self.taught += 1
        self.mixer.mixed += 1
        judged = self.taught % judging.JUDGE_ONE_IN == 0
        # Who rests is asked what it says of the records that it is judged on, and learns these.
        resting = {
            i: np.asarray(member.score(seen.z))
            for i, member in enumerate(self.members)
            if not self.awake[i] and self._asks(i)
        }
        for i, (own, member) in enumerate(self._owners()):
            if self.awake[i] or i in resting:
                self._share(member)
                member.learn(label, w, resting.get(i, scores[own]))
        if judged:
            self._judge(seen.mixed, resting, label, w)
        self.mixer.learn(seen.mixed, label, w)
        self.mixer.learn_join(seen.mixed, seen.joint, label, w)
        self.calibration.learn(seen.answer, seen.best, label, w)

    def _asks(self, i: int) -> bool:
        """Whether a member that rests is asked: one record in eight, later one in thirty-two."""
        rested = self.taught - self.since[i] > judging.RESTED
        return self.taught % (judging.RESTED_ONE_IN if rested else judging.JUDGE_ONE_IN) == 0

    def _share(self, member: MemberOracle) -> None:
        """Let the ferns know what the memory has found out, and when to draw anew."""
        due = self.taught % PERIOD == 0
        if isinstance(member, FernsOracle):
            member.due = due
        if isinstance(member, MemoryOracle) and member.experts and due:
            for other in self.members:
                if isinstance(other, FernsOracle):
                    other.relevance = member.ruler.copy()

    def _judge(self, mixed: Mixed, resting: dict[int, Array], label: int, w: float) -> None:
        """Judge each member on one record in eight."""
        for i, (own, member) in enumerate(self._owners()):
            if member.experts and self.awake[i]:
                self.mixer.judge(self.reports[i], own, mixed, label)
            elif member.experts and i in resting:
                report = self.reports[i]
                self.mixer.judge_resting(report, own, mixed, resting[i], label, w)

    def grow(self, width: int, classes: int) -> None:
        """Know more features or classes."""
        self.scales += [Scale(born=self.seen) for _ in range(width - self.width)]
        kept: list[int] = []
        first = 0
        for member in self.members:
            before = member.experts
            kept += [first + e for e in member.grow(width, classes)]
            first += before
        self.calibration.grow(self.classes, classes)
        self.width, self.classes = width, classes
        self.mixer.keep(kept, classes)
