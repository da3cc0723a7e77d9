"""The table of streams that drift: who looks at no record stands beside every stream."""

from __future__ import annotations

from argparse import Namespace

import drift
import drifting
import numpy as np
import pytest
from scores import baselines


def test_baselines_come_first_and_the_means_leave_out_what_is_not_known() -> None:
    told = Namespace(learners=[], peers=["majority", "nochange"])
    abrupt, steady = (drifting.made_stream(name, 6_000) for name in ("sea-abrupt", "rbf-steady"))
    rows = [drift.figures(stream, told) for stream in (abrupt, steady)]
    for stream, row in zip((abrupt, steady), rows, strict=True):
        beside = baselines(stream.y)
        assert row[:2] == list(beside)
        # River's learners that do the same, over the whole stream.
        assert row[3] == pytest.approx(beside.majority, abs=0.5)
        assert row[5] == pytest.approx(beside.no_change)
    assert rows[0][2] is not None and rows[1][2] is None
    means = drift.means(rows)
    assert means[2] == rows[0][2]
    assert means[0] == pytest.approx(np.mean([row[0] for row in rows]))
