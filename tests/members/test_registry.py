"""What holds for every kind of member that is listed."""

from __future__ import annotations

from typing import Any

import pytest

from stream_llsvm import CommitteeClassifier
from stream_llsvm.kernels.sections import own_sizes, sections_of
from stream_llsvm.members.base import Member
from stream_llsvm.members.registry import KINDS


@pytest.mark.parametrize("name", KINDS)
def test_each_size_makes_a_member_of_that_name(name: str) -> None:
    kind = KINDS[name]
    assert kind.least <= kind.size <= kind.most
    for size in (kind.least, kind.size):
        member = kind.make(size, 0)
        assert member.name == f"{name}:{size}"
        assert len(member.expert_names(4, 3)) == member.experts(4, 3)
        assert member.kept_experts((4, 3), (4, 3)) == list(range(member.experts(4, 3)))


@pytest.mark.parametrize("name", KINDS)
def test_the_plan_gets_what_the_state_names(name: str) -> None:
    """A size that is forgotten would be 0, and its sections would have no room."""
    member = KINDS[name].make(KINDS[name].size, 0)
    sizes = member.sizes(4, 3)
    assert set(own_sizes(member.state)) <= set(sizes)
    assert any(section.where == "state" for section in sections_of(member.state))


@pytest.mark.parametrize("name", KINDS)
def test_the_committees_help_lists_each_kind(name: str) -> None:
    kind = KINDS[name]
    assert f'"{name}" ({kind.size:,} {kind.counts})' in (CommitteeClassifier.__doc__ or "")


def test_a_kind_that_forgets_a_method_cannot_be_made() -> None:
    class Unfinished(Member):
        name = "unfinished"

    make: Any = Unfinished
    with pytest.raises(TypeError, match=r"abstract methods.*carry.*parts.*sound"):
        make()
