"""What a contexts member keeps, by name, and its constants."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from stream_llsvm.kernels.compile import Array
from stream_llsvm.kernels.sections import scratch, state

#: Up to so many fields contexts are made of several; beyond, each field stands alone.
FIELDS = 128
#: How many sets of fields there are, and how many fields are in the largest.
SETS, LARGEST = 128, 5
#: Of a bag of words, and of a record with more fields than FIELDS, so many are asked.
WORDS = 4_096

# Of its running figures. AWAKE: see ``watch``. RESTING: it learns nothing for now. WIDE: there are
# more fields than FIELDS, and each stands alone. USED: the size of the table so far.
N_FIELDS, N_SETS, USED, TAKEN, AWAKE, SEEN, RESTING, WIDE = range(8)
ASLEEP, FOR_NOW, FOR_GOOD = range(3)
# What is known of a field's numbers: whether any had a fraction, how many different ones there
# were, and a set of them: one bit for each, by hash.
FRACTION, DIFFERENT, BITS = range(3)
BIT_WORDS = 16
#: From so many different whole numbers on a field is a code; up to so many it is a choice.
CODE, CHOICE = 31, 10
#: Buckets of the trust in a context's count: by its logarithm to base 2.
BUCKETS = 24
VALUE, ENERGY = range(2)
# A part of the record that says something: its column, the first of its values, how many these
# are, and the place of the first among the scaled numbers.
COLUMN, FIRST, NUMBER, SCALED = range(4)
# A context that the record asks for: its hash, its place (-1: it is new), its set of fields, the
# bucket of its count, as what its field is taken, and where its value is; -1 for several fields.
CODE_OF, PLACE, SET, BUCKET, TAKEN_AS, AT = range(6)
#: As what a value can be taken: a word, a name or another kind of box, or one of these.
WORD, NAME, MISSING, EIGHTH, WHOLE = 0, 1, 8, 9, 10


class ContextsState(NamedTuple):
    """What a contexts member keeps, by name."""

    width: int
    classes: int
    columns: int
    first_expert: int
    cells: int
    most_sets: int
    most_asked: int
    running: Annotated[Array, state("i8", 8)]
    #: Of each column: its field's hash, 0 if it is derived; and its place among ``fields``, or -1.
    hashes: Annotated[Array, state("i8", "width")]
    slots: Annotated[Array, state("i8", "width")]
    #: The column of each field, in the order of their hashes.
    fields: Annotated[Array, state("i8", FIELDS)]
    #: The fields of each set; FIELDS, which says nothing, fills up.
    sets: Annotated[Array, state("i8", SETS, LARGEST)]
    watched: Annotated[Array, state("i8", FIELDS, BITS + BIT_WORDS)]
    #: Of each set: how much its votes count, and the sum of squares that paces that. The first is
    #: the usual's own.
    weights: Annotated[Array, state("f8", 2, "most_sets")]
    #: How much a context's vote counts, by how often it has come.
    trust: Annotated[Array, state("f8", 2, BUCKETS)]
    usual: Annotated[Array, state("f8", "classes")]
    #: Of two classes the second's share is enough.
    table: Annotated[Array, state("f4", "cells", "cell_size")]
    parts: Annotated[Array, scratch("i8", 4, "most_parts")]
    #: Of each field: its key, and as what it is taken together with others. Words are alone.
    keys: Annotated[Array, scratch("i8", FIELDS + 1)]
    taken_as: Annotated[Array, scratch("i8", FIELDS + 1)]
    #: How many contexts the last record asked for, and which; how much each counts within its set.
    n_asked: Annotated[Array, scratch("i8", 1)]
    asked: Annotated[Array, scratch("i8", 6, "most_asked")]
    scales: Annotated[Array, scratch("f8", "most_asked")]
    votes: Annotated[Array, scratch("f4", "most_asked", "columns")]
    told: Annotated[Array, scratch("f8", "columns")]
    score: Annotated[Array, scratch("f8", "columns")]
    push: Annotated[Array, scratch("f8", "classes")]
    slopes: Annotated[Array, scratch("f8", BUCKETS)]
