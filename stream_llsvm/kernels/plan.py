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

# Row 0: the model as a whole. Columns are the scores an expert gives: one a class, or a single one
# for two classes. ``width`` counts the features there is room for. Then comes what learning
# includes: a warm start teaches one after the other. ``redraws`` is how often members may be drawn
# anew within one chunk of rows. A call does all its stages unless it is told to do one, that of
# the members for a single MEMBER: so that several can run at once. ``FORETOLD`` is how many
# predictions may wait for their labels; whether a call's predictions are kept so is ``KEEP``. A
# chunk's arrays are there twice, so that one chunk is prepared while members learn the last:
# ``PLACE`` says which.
(
    WIDTH,
    CLASSES,
    COLUMNS,
    EXPERTS,
    CHUNK,
    STANDARDIZE,
    LEARN_SCALES,
    LEARN_MEMBERS,
    LEARN_MIXER,
    REDRAWS,
    BUDGET,
    STAGE,
    MEMBER,
    FORETOLD,
    KEEP,
    PLACE,
    ALL_MEMBERS,
    CHUNK_ENDS,
    PACKED_ROWS,
    MOST_PIECES,
    MOST_PACKED,
) = range(21)
ALL_STAGES, PREPARE, MEMBERS, FINISH = range(4)

# A member's row: its kind, its experts, what it costs a record, what it has to do with the metric,
# its step sizes and its loss. From OWN on it is the member's own.
KIND, FIRST_EXPERT, OWN_EXPERTS, COST, METRIC, RUNGS, LOSS, MULTICLASS, OWN = range(9)
# The metric of the neighbours, which the ferns draw their features by: who leaves it, who reads it.
NO_METRIC, LEAVES_METRIC, READS_METRIC = range(3)
#: The names by which sections and sizes ask for them.
MODEL_COLUMNS = {
    "width": WIDTH,
    "classes": CLASSES,
    "columns": COLUMNS,
    "all_experts": EXPERTS,
    "chunk": CHUNK,
    "standardize": STANDARDIZE,
    "learn_scales": LEARN_SCALES,
    "learn_members": LEARN_MEMBERS,
    "learn_mixer": LEARN_MIXER,
    "redraws": REDRAWS,
    "budget": BUDGET,
    "stage": STAGE,
    "member": MEMBER,
    "n_foretold": FORETOLD,
    "keep": KEEP,
    "place": PLACE,
    "all_members": ALL_MEMBERS,
    "chunk_ends": CHUNK_ENDS,
    "packed_rows": PACKED_ROWS,
    "most_pieces": MOST_PIECES,
    "most_packed": MOST_PACKED,
}
MEMBER_COLUMNS = {
    "kind": KIND,
    "first_expert": FIRST_EXPERT,
    "experts": OWN_EXPERTS,
    "cost": COST,
    "metric": METRIC,
    "rungs": RUNGS,
    "loss": LOSS,
    "multiclass": MULTICLASS,
}
FIRST_SECTION = 32
PLAN_WIDTH = 80
