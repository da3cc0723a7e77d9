"""What an anchors member remembers, and where each number lies."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stream_llsvm.kernels.compile import Array
from stream_llsvm.kernels.search import GROUPS
from stream_llsvm.kernels.sections import scratch, state

# Settings, one number each; the rungs' step sizes follow.
(
    SHARPNESS,
    COMMON_SHARE,
    ANCHOR_STEP,
    PATIENCE,
    CLUSTERING,
    CLUSTER_FLOOR,
    AVERAGE_FLOOR,
    L2,
    T0,
    SKIP,
    BIAS_STEP,
    STEPS,
) = range(12)
# Running figures.
N_ANCHORS, SPREAD, ENERGY, SEEN, MOVES, TILT, PLACED, REACH = range(8)
# What is known of each anchor.
ZOOM, NORM, VISITS, MASS = range(4)
# Of each that answers, and sums of a record.
DISTANCE, ALONG, CODE, PULL = range(4)
PUSH, STEP, ETA = range(3)
LADDER, PAPER_LLSVM, PAPER_SAPL = range(3)
#: How far a record may move an anchor towards itself, or away.
LARGEST_MOVE = 0.1


class AnchorState(NamedTuple):
    """What an anchors member keeps, by name. Columns of weights are (copies, rungs, columns)."""

    width: int
    columns: int
    first_expert: int
    experts: int
    rungs: int
    loss: int
    multiclass: int
    anchors: int
    machines: int
    neighbours: int
    machine_width: int
    coding: int
    schedule: int
    supervised: int
    settings: Annotated[Array, state("f8", "settings")]
    running: Annotated[Array, state("f8", 8)]
    #: How often each expert was right of late.
    hits: Annotated[Array, state("f8", "experts")]
    #: The scales of raw weights, and of averaged ones (``machines.py``).
    raw_scale: Annotated[Array, state("f8", "rungs")]
    positions: Annotated[Array, state("f4", "anchors", "width")]
    facts: Annotated[Array, state("f4", 4, "machines")]
    keep: Annotated[Array, state("f4", "machines", "rungs")]
    gain: Annotated[Array, state("f4", "machines")]
    weights: Annotated[
        Array, state("f4", "machines", ("copies", "rungs", "columns"), "machine_width")
    ]
    biases: Annotated[Array, state("f4", "machines", ("copies", "rungs", "columns"))]
    #: Who answers the record, the anchors' k first: which, and (4 rows) distance, x . v, code and
    #: how strongly the code reacts to a move of the anchor.
    near: Annotated[Array, scratch("i8", "reach")]
    found: Annotated[Array, scratch("i8", 1)]
    shares: Annotated[Array, scratch("f4", 4, "reach")]
    heights: Annotated[Array, scratch("f4", "reach", ("experts", "columns"))]
    #: Pushes, steps by column, and (by rung) step sizes.
    sums: Annotated[Array, scratch("f4", 3, ("experts", "columns"))]
    products: Annotated[Array, scratch("f4", "anchors")]
    gram: Annotated[Array, scratch("f8", "gram_rows", "gram_columns")]
    distances: Annotated[Array, scratch("f4", "anchors")]
    least: Annotated[Array, scratch("f4", GROUPS)]
    some: Annotated[Array, scratch("i8", 3, GROUPS)]
    #: 1 for the columns of phi(x), which the machines see; the codes see the others. Of no size if
    #: there is no feature map, or if the codes are of phi(x) too.
    mapped: Annotated[Array, state("f4", "mapped_width")]
    halves: Annotated[Array, scratch("f4", 2, "mapped_width")]
    places: Annotated[Array, scratch("i8", 2, "mapped_width")]
    #: Of rows that are answered together.
    all_products: Annotated[Array, scratch("f4", "packed_rows", "anchors")]
    all_near: Annotated[Array, scratch("i8", "packed_rows", "reach")]
    all_codes: Annotated[Array, scratch("f4", "packed_rows", "reach")]
    all_heights: Annotated[Array, scratch("f4", "packed_rows", "reach", ("experts", "columns"))]
    all_distances: Annotated[Array, scratch("f4", "packed_rows", "reach")]
    by_machine: Annotated[Array, scratch("i8", 2, ("packed_rows", "reach"))]
    machine_ends: Annotated[Array, scratch("i8", "machines")]
    offset: Annotated[Array, scratch("f4", "width")]
