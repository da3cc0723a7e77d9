"""What lies where in a model's block, as its file says it: so that later versions can read it.

The order of sections and their places are this version's own. A file lists them by name; a version
that has another layout puts each where it lies now, and a section that it has and the file has not
begins as in a new model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.model.file import ModelFileError
from stream_llsvm.model.layout import BYTES, CACHE_LINE, WORD
from stream_llsvm.model.pages import fill, fit
from stream_llsvm.model.state import ModelState

#: For each of the model and its members, what it is called and its sections: name, type, extent
#: and first word.
Description = list[tuple[str, list[tuple[str, str, tuple[int, ...], int]]]]

_MODEL = "model"
_MOST_WORDS = 2**40
#: A block may grow by so many words beside its own size: what a file makes of nothing is bounded.
_MOST_NEW = 2**20


def described(memory: ModelState) -> Description:
    """Return what lies where in a model's block."""
    names = [_MODEL, *(member.name for member in memory.members)]
    return [
        (
            name,
            [
                (section, place.type, tuple(map(int, place.extent)), int(place.start))
                for section, place in places.items()
                if place.where == "state"
            ],
        )
        for name, places in zip(names, memory.places, strict=True)
    ]


def convert(
    memory: ModelState, told: Any, kept: NDArray[np.uint8], pages: NDArray[np.uint8], by: Any
) -> None:
    """Fill a state, not yet allocated, with a block of another layout.

    Parameters
    ----------
    memory
        What is to be filled.
    told
        What a file says of the block.
    kept, pages
        The block, as `pages_of` gives it.
    by
        The version that wrote it.

    Raises
    ------
    ModelFileError
        If it says too little, or a section is another one by now.

    """
    described_before = _checked(told)
    n_words = max(
        (
            start + _lines(type, extent)
            for _, own in described_before
            for _, type, extent, start in own
        ),
        default=0,
    )
    if not fit(n_words, kept, pages):
        raise ModelFileError("the model file's state does not fit what the file says of it")
    now = described(memory)
    if [name for name, _ in now] != [name for name, _ in described_before]:
        raise ModelFileError(_refusal("the members are others", by))
    if memory.n_words > 2 * n_words + _MOST_NEW:
        raise ModelFileError("the model file's state does not fit its options")
    block = np.zeros(n_words)
    fill(block, kept, pages)
    memory.begin()
    for row, ((owner, sections), (_, before)) in enumerate(zip(now, described_before, strict=True)):
        old = {name: (type, extent, start) for name, type, extent, start in before}
        views = memory.views(row)
        for name, type, extent, _ in sections:
            if name not in old:
                continue
            if old[name][:2] != (type, extent):
                raise ModelFileError(_refusal(f"section {name!r} of {owner!r} is another one", by))
            size, start = int(np.prod(extent, dtype=np.int64)), old[name][2]
            words = block[start : start + _lines(type, extent)]
            views[name][:] = words.view(type)[:size].reshape(extent)


def _refusal(what: str, by: Any) -> str:
    written = by if isinstance(by, str) and len(by) < 40 else "another version"
    return (
        f"the file was written by stream_llsvm {written}, and {what} in this version: predict with "
        "that version, or let this one learn anew"
    )


def _lines(type: str, extent: Sequence[int]) -> int:
    """Return how many words a section takes, up to the next one."""
    size = 1
    for n in extent:
        size *= n
    return -(-size * BYTES[type] // (WORD * CACHE_LINE)) * CACHE_LINE


def _checked(told: Any) -> Description:
    """Return what a file says if it is a description; anybody may have written it."""
    try:
        found = [
            (_is(str, name), [_section(*section) for section in _is(list, sections)])
            for name, sections in _is(list, told)
        ]
    except (TypeError, ValueError):
        raise ModelFileError("what the model file says of its sections is malformed") from None
    return found


def _section(
    name: Any, type: Any, extent: Any, start: Any
) -> tuple[str, str, tuple[int, ...], int]:
    sizes = [_is(int, n) for n in _is(tuple, extent)]
    if _is(str, type) not in BYTES or not 0 <= _is(int, start) <= _MOST_WORDS or len(sizes) > 8:
        raise ValueError
    if any(not 0 <= n <= _MOST_WORDS for n in sizes) or start % CACHE_LINE:
        raise ValueError
    section = _is(str, name), type, tuple(sizes), start
    if start + _lines(type, sizes) > _MOST_WORDS:
        raise ValueError
    return section


def _is(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value
