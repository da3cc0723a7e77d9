"""What an anchors member remembers, and where each number lies."""

from __future__ import annotations

from stream_llsvm.kernels.search import GROUPS
from stream_llsvm.kernels.side_by_side import MOST, ROWS
from stream_llsvm.kernels.state import OWN

# Its own part of its row of the plan.
ANCHORS, MACHINES, NEIGHBORS, CODING, SCHEDULE, SUPERVISED, FLAT, MAPPED = range(OWN, OWN + 8)
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
LADDER, PAPER_LLSVM, PAPER_SAPL = range(3)

LAYOUT = (
    # name, type, dimensions, where it is kept
    ("settings", "f8", ("settings",), "state"),
    ("running", "f8", (8,), "state"),
    ("hits", "f8", ("experts",), "state"),
    ("raw_scale", "f8", ("rungs",), "state"),
    ("positions", "f4", ("anchors", "width"), "state"),
    ("facts", "f4", (4, "machines"), "state"),
    ("keep", "f4", ("machines", "rungs"), "state"),
    ("gain", "f4", ("machines",), "state"),
    ("weights", "f4", ("machines", "copies", "rungs", "columns", "machine_width"), "state"),
    ("biases", "f4", ("machines", "copies", "rungs", "columns"), "state"),
    ("near", "i8", ("reach",), "scratch"),
    ("found", "i8", (1,), "scratch"),
    ("shares", "f4", (4, "reach"), "scratch"),
    ("heights", "f4", ("reach", "experts", "columns"), "scratch"),
    ("sums", "f4", (3, "experts", "columns"), "scratch"),
    ("products", "f4", ("anchors",), "scratch"),
    ("gram", "f8", ("gram_rows", "gram_columns"), "scratch"),
    ("distances", "f4", ("anchors",), "scratch"),
    ("least", "f4", (GROUPS,), "scratch"),
    ("some", "i8", (GROUPS,), "scratch"),
    # 1 for the columns of phi(x), which the machines see; the codes see the others. Of no size if
    # there is no feature map, or if the codes are of phi(x) too.
    ("mapped", "f4", ("mapped_width",), "state"),
    ("halves", "f4", (2, "mapped_width"), "scratch"),
    ("places", "i8", (2, "mapped_width"), "scratch"),
    # Of rows that are answered together.
    ("all_products", "f4", ("packed_rows", "anchors"), "scratch"),
    ("all_near", "i8", ("packed_rows", "reach"), "scratch"),
    ("all_codes", "f4", ("packed_rows", "reach"), "scratch"),
    ("all_heights", "f4", ("packed_rows", "reach", "experts", "columns"), "scratch"),
    ("all_distances", "f4", ("packed_rows", "reach"), "scratch"),
    ("by_machine", "i8", (2, "packed_rows", "reach"), "scratch"),
    ("machine_ends", "i8", ("machines",), "scratch"),
    ("beside", "f4", ("anchors", ROWS), "scratch"),
    ("least_beside", "f4", (2, MOST, ROWS), "scratch"),
    ("offset", "f4", ("width",), "scratch"),
)
