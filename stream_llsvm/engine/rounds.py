"""How the rounds of many learners go, for those who watch them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class ShardSize(NamedTuple):
    """How many keys a learner has, of a model for each key, and their bytes."""

    keys: int
    bytes: int


class Rounds(NamedTuple):
    """What there is to see of many learners.

    Attributes
    ----------
    learners, most
        How many the last round had, and how many there may be.
    rounds, repeated, restarts
        How many rounds were learned, how many of them something died in, and how many learners were
        replaced.
    backlog
        About how many records were there, and not learned, before the last round.
    fallbacks
        How often a merge took a member of the newest learner, by the member's name.
    seconds
        How long each part of the last round took, see `PARTS`; what learners do, on the mean.
    price
        What several cost: by how much one learner did better in rounds that were learned twice, a
        share of right answers or a mean error; None if none was.
    audited
        How many rounds that were.
    shards
        Of a model for each key how much each learner of the last round had, by rank.

    """

    learners: int
    most: int
    rounds: int
    repeated: int
    restarts: int
    backlog: int
    fallbacks: Mapping[str, int]
    seconds: Mapping[str, float]
    price: float | None = None
    audited: int = 0
    shards: Sequence[ShardSize] = ()


#: The parts of a round, in their order.
PARTS = {
    "carry": "models out and back",
    "read": "read",
    "learn": "learn",
    "wait": "wait for the slowest",
    "merge": "merge",
    "save": "save and write",
}
