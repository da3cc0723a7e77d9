"""Asking for a record's contexts, and counting their votes."""

from __future__ import annotations

import math

import numpy as np

from stream_llsvm.kernels.compile import Array, Real, inlined
from stream_llsvm.kernels.views import bits_of
from stream_llsvm.members.contexts.fields import (
    content_of_whole,
    key_of_value,
    kind_of_value,
)
from stream_llsvm.members.contexts.state import (
    AT,
    BUCKET,
    BUCKETS,
    CODE_OF,
    COLUMN,
    EIGHTH,
    FIELDS,
    FIRST,
    MISSING,
    N_FIELDS,
    N_SETS,
    NUMBER,
    PLACE,
    SCALED,
    SET,
    TAKEN_AS,
    USED,
    VALUE,
    WHOLE,
    WIDE,
    WORD,
    WORDS,
    ContextsState,
)
from stream_llsvm.members.contexts.table import (
    COUNT,
    SHARES,
    holds,
    key_of,
    mixed,
    place_of,
    tag_of,
)

EPS = 1e-3
KNOWN = 2  # from so many on a whole number stands for itself together with others
HALF = 1 / math.sqrt(2.0)


@inlined
def ask(m: ContextsState, n: int, key: int, of: int, kind: int, at: int, scale: Real) -> int:
    """Note a context that the record asks for; returns how many there are, ``n`` if no more fit."""
    asked = m.asked
    if n >= m.most_asked:
        return n
    code = mixed(key)
    place = place_of(m.table, m.running[USED], code)
    known = holds(m.table, place, tag_of(code))
    asked[CODE_OF, n], asked[SET, n] = code, of
    asked[PLACE, n] = place if known else -1
    asked[TAKEN_AS, n], asked[AT, n] = kind, at
    m.scales[n] = scale
    return n + 1


@inlined
def ask_alone(m: ContextsState, n: int, part: int, values: Array, z: Array) -> int:
    """Ask for the contexts of a single field, and find its key for those of several."""
    wide, bits = m.running[WIDE] == 1, bits_of(values)
    column, first, several = m.parts[COLUMN, part], m.parts[FIRST, part], m.parts[NUMBER, part]
    field, of, slot = m.hashes[column], column if wide else part, FIELDS if wide else part
    if several > 1:
        scale = 1 / math.sqrt(several)
        for t in range(first, first + min(several, max(1, WORDS - n))):
            kind = kind_of_value(values[t], bits[t])
            n = ask(m, n, key_of_value(field, kind, bits[t], 0.0), of, WORD, t, scale)
        m.taken_as[slot] = WORD
        return n
    v = values[first] if first >= 0 else np.nan
    of_v = bits[first] if first >= 0 else np.int64(0)
    kind = kind_of_value(v, of_v)
    key = key_of_value(field, kind, of_v, z[m.parts[SCALED, part]] if kind == EIGHTH else 0.0)
    whole = kind == EIGHTH and v == math.floor(v)
    n = ask(m, n, key, of, kind, first, HALF if whole else 1.0)
    if whole:
        itself, before = key_of(field, WHOLE, content_of_whole(v)), n
        n = ask(m, n, itself, of, WHOLE, first, HALF)
        place = m.asked[PLACE, before] if n > before else -1
        if place >= 0 and m.table[place, COUNT] >= KNOWN:
            key, kind = itself, WHOLE
    m.keys[slot], m.taken_as[slot] = key, kind
    return n


@inlined
def ask_all(m: ContextsState, values: Array, z: Array, parts: int) -> None:
    """Ask for all contexts of a record."""
    keys, taken_as, sets = m.keys, m.taken_as, m.sets
    n = 0
    for part in range(parts):
        n = ask_alone(m, n, part, values, z)
    keys[FIELDS], taken_as[FIELDS] = 0, MISSING
    if m.running[WIDE] == 0:
        for s in range(m.running[N_FIELDS], m.running[N_SETS]):
            key, words = np.int64(0), False
            for i in range(sets.shape[1]):
                key += keys[sets[s, i]]
                words |= taken_as[sets[s, i]] == WORD
            if not words:
                n = ask(m, n, key, s, 0, -1, 1.0)
    m.n_asked[0] = n


@inlined
def count_votes(m: ContextsState) -> None:
    """Count what the contexts asked for say, and add it up."""
    table, asked, votes, told, score = m.table, m.asked, m.votes, m.told, m.score
    columns, usual = m.columns, m.usual
    for c in range(columns):
        told[c] = math.log(usual[c] + EPS)
    if columns == 1:
        other = usual[1] if m.classes > 1 else usual[0]
        told[0] = math.log((other + EPS) / (usual[0] + EPS))
    for c in range(columns):
        score[c] = m.weights[VALUE, 0] * told[c]
    for a in range(m.n_asked[0]):
        place = asked[PLACE, a]
        if place < 0:
            continue
        asked[BUCKET, a] = min(math.frexp(table[place, COUNT])[1] - 1, BUCKETS - 1)
        counts = m.weights[VALUE, 1 + asked[SET, a]]
        counts *= m.scales[a] * m.trust[VALUE, asked[BUCKET, a]]
        for c in range(columns):
            share = table[place, SHARES + c] + np.float32(EPS)
            if columns == 1:
                share /= np.float32(1 + 2 * EPS) - share
            vote = math.log(share) - np.float32(told[c])
            votes[a, c] = vote
            score[c] += counts * vote
