"""The memory as a classifier: its limits are its own, and are documented as they are."""

from __future__ import annotations

from stream_llsvm import MemoryClassifier
from stream_llsvm.learners.neighbours import _FLOATS
from stream_llsvm.members.neighbours.member import _SHORTEST


def test_the_window_is_as_long_as_the_docstring_says() -> None:
    (member,) = MemoryClassifier()._members()
    said = " ".join((MemoryClassifier.__doc__ or "").split())
    full = _FLOATS // 2_000
    assert f"would exceed {_FLOATS:,}" in said
    assert f"the usual 2,000 up to {full:,} features" in said
    assert f"fewer than {_SHORTEST} would fit" in said
    assert member.sizes(full, 1)["window"] == 2_000 > member.sizes(full + 1, 1)["window"]
    assert (
        member.experts(_FLOATS // _SHORTEST, 1) > 0 == member.experts(_FLOATS // _SHORTEST + 1, 1)
    )
