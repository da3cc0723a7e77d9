"""What the loops over JSON and CSV share: flags, and gathering what is left to Python."""

from __future__ import annotations

import numpy as np

from stream_llsvm.connectors.flat.compile import Array, entry
from stream_llsvm.connectors.flat.spans import Spans

#: What may be known of a record: it was read; Python has to read it; it was read, and is as it
#: should be if it is UTF-8.
READ, ODD, WIDE = 0, 1, 2

#: What a field is that is no feature: its place among the values is one of these.
LABEL, KEY, IGNORED = -1, -2, -3


@entry
def gathered(
    data: Array, odd: Array, starts: Array, ends: Array, nothing: Array, between: int, out: Array
) -> int:
    """Write some stretches of the data one after the other; return how long that is.

    ``nothing`` stands for those that start below 0, and for all of a record that is odd.
    """
    to = 0
    for i in range(len(odd)):
        if i:
            out[to] = between
            to += 1
        if odd[i] == ODD or starts[i] < 0:
            for k in range(len(nothing)):
                out[to] = nothing[k]
                to += 1
        else:
            for k in range(starts[i], ends[i]):
                out[to] = data[k]
                to += 1
    return to


def settle(raws: Spans, odd: Array) -> None:
    """Decide what is known of those records that must be UTF-8."""
    for i in np.flatnonzero(odd == WIDE).tolist():
        try:
            (raws[i] or b"").decode()
        except UnicodeDecodeError:
            odd[i] = ODD
        else:
            odd[i] = READ


def gather(data: Array, odd: Array, spans: Array, nothing: bytes, between: bytes) -> bytes:
    """Return some stretches of the data in one, with a byte between each two.

    Parameters
    ----------
    data
        Bytes.
    odd
        Which records are left out.
    spans
        (n, 2), where the stretch of each begins and ends; below 0 if there is none.
    nothing
        What stands for that.
    between
        One byte.

    """
    starts, ends = spans[:, 0], spans[:, 1]
    none = np.frombuffer(nothing, dtype=np.uint8)
    most = int((ends - starts).sum()) + len(odd) * (len(none) + 1)
    out = np.empty(most, dtype=np.uint8)
    size = gathered(data, odd, starts, ends, none, between[0], out)
    return out[:size].tobytes()
