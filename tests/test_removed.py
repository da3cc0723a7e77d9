"""What version 0.2 had and this one has not is refused with what to use instead."""

from __future__ import annotations

from pathlib import Path

import pytest

import stream_llsvm
from stream_llsvm import CommitteeClassifier
from stream_llsvm.cli.models import find
from stream_llsvm.removed import REMOVED, removed
from tests.cli.support import refused


def test_a_removed_name_says_what_to_use() -> None:
    for name in ("LDKLClassifier", "ML3Classifier"):
        with pytest.raises(AttributeError, match=f"{name} was removed: .*SAPLClassifier"):
            getattr(stream_llsvm, name)
    with pytest.raises(ValueError, match="ldkl was removed"):
        CommitteeClassifier(members=("ldkl",))
    with pytest.raises(ValueError, match="ml3 was removed"):
        find("ml3")
    assert "inspect --json" in refused("diff", "a", "b")
    assert removed("anything") is None
    assert all(removed(name) for name in REMOVED)


def test_a_pipeline_that_says_what_is_gone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text(
        '[source]\nfrom = "x.csv"\n[checkpoints]\nhistory = false\n[alerts]\nrepeat = 1\n'
    )
    said = refused("run", path)
    assert "[alerts]" in said and "grafana/alerts.yaml" in said
    assert "Prometheus keeps the metrics" in said
