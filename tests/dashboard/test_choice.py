"""The member on the map is the one that counts most, and does not change all the time."""

from __future__ import annotations

from stream_llsvm import CommitteeClassifier, FernsClassifier
from stream_llsvm.dashboard.choice import MemberChoice, candidates
from stream_llsvm.explain import MemberReport
from tests.dashboard.support import Clock, Run, quadrants


def reports(*weights: float) -> list[MemberReport]:
    return [MemberReport("-", True, (w, 0.0), 0.5, 0.5, 0.0) for w in weights]


def test_another_is_shown_only_when_it_is_ahead_for_a_while() -> None:
    run = Run(CommitteeClassifier(members=("anchors:1", "anchors:8", "anchors:20")))
    run.learn(*quadrants(30))
    memory, clock = run.model._memory, Clock()
    assert candidates(memory) == [1, 2]
    choice = MemberChoice(clock)
    assert choice.choose(memory, reports(9.0, 1.0, 2.0)) == 2
    for _ in range(20):  # hardly ahead, for ever
        clock.now += 5
        assert choice.choose(memory, reports(9.0, 2.2, 2.0)) == 2
    for seconds, expected in ((0, 2), (6, 2), (6, 1), (1, 1)):
        clock.now += seconds
        assert choice.choose(memory, reports(9.0, 4.0, 2.0)) == expected
    # Ahead, and not, and ahead again: it begins to count anew.
    for seconds, weight, expected in ((0, 9.0, 1), (8, 1.0, 1), (8, 9.0, 1), (8, 9.0, 1)):
        clock.now += seconds
        assert choice.choose(memory, reports(0.0, 4.0, weight)) == expected
    clock.now += 8
    assert choice.choose(memory, reports(0.0, 4.0, 9.0)) == 2


def test_a_linear_machine_is_shown_if_there_are_no_others() -> None:
    run = Run(CommitteeClassifier(members=("anchors:1", "memory")))
    run.learn(*quadrants(30))
    assert MemberChoice(Clock()).choose(run.model._memory, reports(1.0, 1.0)) == 0
    ferns = Run(FernsClassifier())
    ferns.learn(*quadrants(30))
    assert MemberChoice(Clock()).choose(ferns.model._memory, reports(1.0)) is None
