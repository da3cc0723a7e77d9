"""The kinds of members, one line each: what a committee can be made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stream_llsvm.kernels.dispatch import Kernels
from stream_llsvm.members.additive import member as additive
from stream_llsvm.members.anchors import member as anchors
from stream_llsvm.members.base import Member
from stream_llsvm.members.contexts import member as contexts
from stream_llsvm.members.family.budget_svm import member as budget_svm
from stream_llsvm.members.family.landmarks import member as landmarks
from stream_llsvm.members.family.local_svm import member as local_svm
from stream_llsvm.members.family.pegasos import member as pegasos
from stream_llsvm.members.ferns import member as ferns
from stream_llsvm.members.neighbours import member as neighbours
from stream_llsvm.members.prior import member as prior
from stream_llsvm.members.trees import member as trees
from stream_llsvm.members.waves import member as waves
from stream_llsvm.members.words import member as words


class Kind(NamedTuple):
    """How users name a kind, how one of a size is made, and which sizes there are."""

    name: str
    make: Callable[[int, int], Member]
    #: What a size counts, the usual size, and the range.
    counts: str
    size: int
    least: int
    most: int


KINDS = {
    kind.name: kind
    for kind in (
        Kind("anchors", anchors.of_size, "anchors", 100, 1, 100_000),
        Kind("additive", additive.of_size, "knots", 33, 2, 1_025),
        Kind("memory", neighbours.of_size, "records", 2_000, 1, 1_000_000),
        Kind("ferns", ferns.of_size, "ferns", 100, 1, 10_000),
        Kind("local", local_svm.of_size, "records", 2_000, 1, 1_000_000),
        Kind("landmarks", landmarks.of_size, "clusters", 30, 1, 100_000),
        Kind("pegasos", budget_svm.of_size, "support vectors", 200, 1, 100_000),
        Kind("linear", pegasos.of_size, "records a step", 1, 1, 1_000_000),
        Kind("prior", prior.of_size, "labels", 32, 1, 1_000_000),
        Kind("waves", waves.of_size, "waves", 128, 2, 1_024),
        Kind("trees", trees.of_size, "trees", 20, 1, 10_000),
        Kind("contexts", contexts.of_size, "cells", 2**18, 2**10, 2**20),
        Kind("words", words.of_size, "cells for words of texts", 2**16, 2**10, 2**20),
    )
}


def kernels_of(name: str) -> Kernels:
    """Return a kind's compiled functions."""
    kind = KINDS[name]
    return kind.make(kind.size, 0).kernels
