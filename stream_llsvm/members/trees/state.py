"""What a trees member keeps, by name, and its constants."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stream_llsvm.kernels.compile import Array
from stream_llsvm.kernels.scaling import Z_MOST
from stream_llsvm.kernels.sections import scratch, state

#: Leaves have no nodes below them; a leaf never lies deeper.
LEAF, DEEPEST = 0, 12
#: Instead of the number of a histogram: a leaf that waits for one, a node that needs none.
WAITS, NEVER = -1, -2
#: How many features a leaf asks about, at how many places, and between which values.
FEATURES, BINS, EDGE = 16, 32, Z_MOST

# A running count: records learned, histograms that are free, columns that are named.
SEEN, FREE, KNOWN = range(3)
# Of each tree: how many nodes it has, since which record it grows.
SIZE, BORN = range(2)
# Of each feature that a leaf asks about: where its first bin begins, and bins a unit.
LOW, PACE = range(2)


class TreesState(NamedTuple):
    """What a trees member keeps, by name."""

    width: int
    columns: int
    first_expert: int
    trees: int
    nodes: int
    histograms: int
    features: int
    #: Whether it speaks before it has asked anything: then it knows which classes are usual.
    eager: int
    #: The size of a step.
    settings: Annotated[Array, state("f8", 1)]
    running: Annotated[Array, state("i8", 3)]
    #: The state of the random numbers.
    source: Annotated[Array, state("i8", 1)]
    facts: Annotated[Array, state("i8", 2, "trees")]
    #: How far each tree pulls towards the truth, a running mean.
    use: Annotated[Array, state("f8", "trees")]
    #: Of each node: the feature that it asks about, whether it is above the cut, the first of the
    #: two nodes below it (``LEAF``: none), and the node above it.
    asks: Annotated[Array, state("i4", "trees", "nodes")]
    cuts: Annotated[Array, state("f4", "trees", "nodes")]
    below: Annotated[Array, state("i4", "trees", "nodes")]
    above: Annotated[Array, state("i4", "trees", "nodes")]
    #: Of each leaf: its histogram, how much it has learned, and what it adds to the score: raw,
    #: then averaged.
    slots: Annotated[Array, state("i4", "trees", "nodes")]
    mass: Annotated[Array, state("f4", "trees", "nodes")]
    values: Annotated[Array, state("f4", "trees", "nodes", (2, "columns"))]
    bias: Annotated[Array, state("f4", (2, "columns"))]
    #: Of each histogram: which features it is of, and over which of their values.
    asked: Annotated[Array, state("i4", "histograms", "features")]
    bins: Annotated[Array, state("f4", "histograms", "features", 2)]
    #: For each bin and feature the sum of errors, and of their variances.
    sums: Annotated[Array, state("f4", "histograms", BINS, ("features", 2))]
    #: Whose error counts as above and whose as below, and records since the last look for a cut.
    sides: Annotated[Array, state("f4", "histograms", "columns")]
    since: Annotated[Array, state("f4", "histograms")]
    #: The histograms that no leaf has; the first ``FREE`` of them.
    free: Annotated[Array, state("i4", "histograms")]
    #: How much of a step's length is left in history; of 0 it rests, and live it is 1.
    pace: Annotated[Array, state("f8", 1)]
    dense: Annotated[Array, scratch("f4", "width")]
    #: The record's leaf in each tree.
    leaves: Annotated[Array, scratch("i8", "trees")]
    score: Annotated[Array, scratch("f4", "columns")]
    push: Annotated[Array, scratch("f4", "columns")]
    #: Of each feature while a cut is looked for: all its sums, those so far, the best gain and
    #: its bin.
    whole: Annotated[Array, scratch("f4", ("features", 2))]
    left: Annotated[Array, scratch("f4", ("features", 2))]
    best: Annotated[Array, scratch("f4", 2, "features")]
