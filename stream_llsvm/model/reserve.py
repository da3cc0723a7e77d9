"""The memory that a large model will grow into, fetched from the system before it is needed.

A page that nobody has written to is fetched when somebody first does. On a virtual machine that can
take ten microseconds: of a state of 50 MB a tenth of a second, for which one record would have to
wait. So, once a model is nearly full, each new name fetches its part of the pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.model.layout import BYTES, WORD, zeros_on_lines
from stream_llsvm.model.pages import PAGE

if TYPE_CHECKING:
    from stream_llsvm.model.state import ModelState

#: Smaller states are moved in a few milliseconds. In words.
LARGE = 2**19


class Reserve:
    """The block of a larger state, all zeros.

    Parameters
    ----------
    old
        The state that will be moved.
    larger
        The state that it will be moved to; nothing of it is allocated.

    """

    def __init__(self, old: ModelState, larger: ModelState) -> None:
        self.zeros = zeros_on_lines(larger.n_words)
        written = [
            np.arange(new.start, new.start + was.size * BYTES[was.type] // WORD, PAGE)
            for before, after in zip(old.places, larger.places, strict=True)
            for was, new in zip(before.values(), after.values(), strict=True)
            if was.where == "state" and was.size <= new.size
        ]
        #: A word of each page that will be written to.
        self._pages: NDArray[np.int64] = np.concatenate(written)
        self._fetched = 0

    def fetch(self, share: float) -> None:
        """Fetch pages until it is such a share of them, of 1.

        Parameters
        ----------
        share
            How many of them there shall be.

        """
        enough = int(share * len(self._pages))
        self.zeros[self._pages[self._fetched : enough]] = 0
        self._fetched = max(self._fetched, enough)
