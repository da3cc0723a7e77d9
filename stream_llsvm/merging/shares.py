"""The prior: the classes' shares become their mean."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.merging.parts import Array, Part, by_weight, mean_of


def merge(parts: Sequence[Part], out: dict[str, Array]) -> None:
    """Fill ``out`` with the mean of the models' shares."""
    out["shares"][:] = mean_of(by_weight(parts), [part.views["shares"] for part in parts])
