"""Any values that can be packed, and what it means that two are the same."""

import struct

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = st.sampled_from(
    [np.dtype(o + k) for o in "<>" for k in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8")]
    + [np.dtype(k) for k in ("b1", "i1", "u1")]
)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, min_side=0, max_dims=4, max_side=4))
SCALARS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, ())).map(lambda array: array[()])
TEXT = st.text(st.characters(exclude_categories=[]))  # lone surrogates as well
INTEGERS = st.one_of(
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.sampled_from(
        [s * 2**b + d for b in (7, 8, 31, 32, 63, 64) for s in (1, -1) for d in (0, -1)]
    ),
)
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    INTEGERS,
    st.floats(),
    TEXT,
    st.binary(),
    SCALARS,
    TEXT.map(np.str_),
    st.binary().map(np.bytes_),
)
KEYS = st.one_of(ATOMS, st.tuples(ATOMS, ATOMS))
VALUES = st.recursive(
    ATOMS | ARRAYS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    """Equal in type and bits, and dicts also in order."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic) and isinstance(b, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return same(list(a.items()), list(b.items()))
    return bool(a == b)
