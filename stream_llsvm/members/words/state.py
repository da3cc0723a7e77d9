"""What a words member keeps, by name, and its constants."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stream_llsvm.kernels.compile import Array
from stream_llsvm.kernels.sections import scratch, state

#: The experts: AdaGrad with short and with long steps, naive Bayes, AROW.
EXPERTS = 4
SHORT, LONG, COUNTS, CONFIDENT = range(EXPERTS)
# A name's row of the table: so many numbers for each column of scores, then its count a class.
# AdaGrad's weights with their sums of squared gradients; AROW's weight, and its variance less 1.
WEIGHT, SQUARES, LONG_WEIGHT, LONG_SQUARES, MEAN, SPREAD = range(6)
NUMBERS = 6
# Running figures. UNIT: what a new record counts as, which grows, so that older ones fade. LEFT:
# of a step's length. RESTING: nothing is counted for now. TOKENS: whether any has come.
UNIT, LEFT, RESTING, TOKENS = range(4)
# Of the last record: how many tokens it has, and whether it names anything.
N_TOKENS, SPOKE = range(2)
# A token: its row of the table, and the column of its field.
ROW, COLUMN = range(2)
#: Of a record's tokens so many are taken.
MOST_TOKENS = 4_096
# What a record leaves while it is scored and learned, each for all columns: sums of the three
# linear experts and what pushes them; AROW's energy and one over what its step is divided by.
SUMS, PUSHES, ENERGY, PART = 0, 3, 6, 7
# Of naive Bayes, each for all classes: the sum of logarithms, and a product on its way to one.
LOGS, PRODUCT = range(2)


class WordsState(NamedTuple):
    """What a words member keeps, by name."""

    width: int
    classes: int
    columns: int
    first_expert: int
    #: Rows of the table: first the bias's, then those that tokens are hashed into, then one a
    #: column; none of these among few features.
    cells: int
    named: int
    slots: int
    running: Annotated[Array, state("f8", 4)]
    totals: Annotated[Array, state("f8", "classes")]
    #: Of each column: its field's hash, 0 if it is derived.
    hashes: Annotated[Array, state("i8", "width")]
    table: Annotated[Array, state("f4", "rows", "slots")]
    found: Annotated[Array, scratch("i8", 2)]
    tokens: Annotated[Array, scratch("i8", 2, MOST_TOKENS)]
    sums: Annotated[Array, scratch("f4", 8, "columns")]
    logs: Annotated[Array, scratch("f8", 2, "classes")]
