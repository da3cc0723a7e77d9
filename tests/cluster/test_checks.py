"""What is refused before a cluster learns anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stream_llsvm import SAPLClassifier
from stream_llsvm.cluster import ClusterEngine
from stream_llsvm.cluster.host import InlineHost
from stream_llsvm.cluster.rounds import Setup, Worker
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.resume import EngineError
from tests.cluster.streams import source_of


class Elsewhere(Worker):
    """A learner on a machine with another numba, which sees none of this one's files."""

    def about(self) -> dict[str, Any]:
        return super().about() | {"numba": "0.1"}

    def read(self, path: str) -> str | None:
        return None


class Blind(Worker):
    """A learner on a machine that sees none of this one's files."""

    def read(self, path: str) -> str | None:
        return None


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Elsewhere, "learner 0 has another numba, 0.1, not .*: install the same on all machines"),
        (Blind, "learner 0 does not see .*: choose a folder that all machines share"),
    ],
)
def test_learners_that_do_not_fit(kind: type[Worker], why: str, tmp_path: Path) -> None:
    source = source_of(3_000)
    setup = Setup(source.description)
    engine = ClusterEngine(
        source,
        SAPLClassifier(),
        workers=2,
        checkpoints=Checkpoints(tmp_path / "kept"),
        host=InlineHost(lambda: kind(setup)),
    )
    with pytest.raises(EngineError, match=why):
        engine.run()
    assert not list((tmp_path / "kept").glob(".seen*"))
