"""The plan of a model's state: which column says what, and where sections begin.

A model is one array of 8-byte words (``state``) and a small table (``plan``) that says which part
of it is whose. Sections of 4-byte floats are views into the same words. So saving a model is
writing one block, a snapshot for readers is one copy, and a kernel call takes few arguments, each
of which would cost a tenth of the call. ``scratch`` has the same form but holds only what one call
leaves for the next; it is never saved.

Row 0 of the plan describes the model, row 1 + i its member i. A row begins with sizes and choices;
from column FIRST_SECTION on it says at which word each of its sections starts.
"""

from __future__ import annotations

from typing import NamedTuple

ALL_STAGES, PREPARE, MEMBERS, FINISH = range(4)
# The metric of the neighbours, which the ferns draw their features by: who leaves it, who reads it.
NO_METRIC, LEAVES_METRIC, READS_METRIC = range(3)


class ModelRow(NamedTuple):
    """The columns of row 0, by the names with which sections and sizes ask for them."""

    #: How many features there is room for; classes; scores that an expert gives: one a class, or a
    #: single one for two classes; all members' experts.
    width: int
    classes: int
    columns: int
    all_experts: int
    chunk: int
    standardize: int
    #: What learning includes: a warm start teaches one after the other.
    learn_scales: int
    learn_members: int
    learn_mixer: int
    #: How often members may be drawn anew within one chunk of rows.
    redraws: int
    budget: int
    #: A call does all its stages unless it is told to do one, that of the members for a single
    #: one of them: so that several can run at once.
    stage: int
    member: int
    #: How many predictions may wait for their labels; whether a call's predictions are kept so.
    n_foretold: int
    keep: int
    #: A chunk's arrays are there twice, so that one is prepared while members learn the last:
    #: which of them.
    place: int
    all_members: int
    chunk_ends: int
    packed_rows: int
    most_pieces: int
    most_packed: int
    #: Experts over which the first trust is shared out; those behind them come on top.
    counted_experts: int
    #: Whether some columns share the place of a field.
    shared_out: int
    #: Of the counted experts those by whose number the mixer is paced and first trust shared out:
    #: all but those that seldom speak.
    paced_experts: int
    #: How many columns those members see that are capped, and how many a dense row may have: all,
    #: and none where members are capped, whose rows are sparse.
    local_width: int
    dense_width: int
    #: A row of so many values at most is recognised when it comes again.
    most_kept: int
    #: Rows of a chunk on which members are judged.
    judged_rows: int


class MemberRow(NamedTuple):
    """The columns of a member's row; from OWN on it is the member's own."""

    #: How many columns it sees: in the same place as the model's, and asked for by the same name.
    width: int
    kind: int
    first_expert: int
    experts: int
    #: What it costs a record in multiply-adds, and what it has to do with the metric.
    cost: int
    metric: int
    rungs: int
    loss: int
    multiclass: int
    #: What it costs in time: about so many nanoseconds a record.
    price: int


MODEL_ROW = ModelRow(*range(len(ModelRow._fields)))
MEMBER_ROW = MemberRow(*range(len(MemberRow._fields)))
MODEL_COLUMNS, MEMBER_COLUMNS = MODEL_ROW._asdict(), MEMBER_ROW._asdict()
assert MODEL_ROW.width == MEMBER_ROW.width
OWN = len(MEMBER_ROW)
FIRST_SECTION = 32
PLAN_WIDTH = 80
