"""River's table continued: the same data, the same scores, and what river published beside."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

import pytest
import river_table
from river import datasets, evaluate, metrics
from river_published import PUBLISHED
from river_table import (
    BINARY_MODELS,
    BUNDLED,
    ELEC2,
    MODELS,
    MULTICLASS,
    STEADY_MODELS,
    Score,
    makers,
    progressive,
)


@pytest.mark.parametrize("model", ["Naive Bayes", "Hoeffding Tree", "[baseline] Last Class"])
def test_what_has_no_luck_gives_the_published_figures(model: str) -> None:
    """So the records, their order, the scores and the options are those of river's table."""
    found = progressive(STEADY_MODELS[model](), list(datasets.Phishing()), multiclass=False)
    assert (round(found.accuracy, 2), round(found.f1, 2)) == PUBLISHED["Phishing"][model]


def test_scores_of_many_classes_are_rivers() -> None:
    records: Any = list(datasets.ImageSegments())[:400]
    found = progressive(STEADY_MODELS["Naive Bayes"](), records, multiclass=True)
    both: Any = metrics.Accuracy() + metrics.MacroF1()
    evaluate.progressive_val_score(records, STEADY_MODELS["Naive Bayes"](), both)
    assert [found.accuracy / 100, found.f1 / 100] == pytest.approx([one.get() for one in both])


def test_every_model_of_rivers_that_is_run_was_published() -> None:
    for name, published in PUBLISHED.items():
        theirs = MODELS if name in MULTICLASS else (*MODELS, *BINARY_MODELS)
        assert set(theirs) <= published.keys()
        assert all(0 <= figure <= 100 for pair in published.values() for figure in pair)
    assert PUBLISHED.keys() == BUNDLED.keys() | {ELEC2}
    assert max(PUBLISHED["Phishing"].values()) == (91.35, 90.2)


def test_published_figures_stand_beside_whole_data_sets_only() -> None:
    found = {
        "committee": [Score(91.0, 90.0, 10.0), Score(93.0, 92.0, 30.0)],
        "Naive Bayes": [Score(88.0, 87.0, 100.0)],
    }
    text = river_table.compared("Phishing", found, whole=True)
    assert "| Naive Bayes | 88.00 | 87.00 | 100.0 | 88.47 | 87.14 |" in text
    assert "| committee | 92.00 ± 1.41 | 91.00 ± 1.41 | 20.0 | - | - |" in text
    assert "The best that river published: Streaming Random Patches, 91.35 / 90.20." in text
    assert "88.47" not in river_table.compared("Phishing", found, whole=False)


def test_who_throws_dice_is_run_with_several_seeds() -> None:
    told = Namespace(learners=["ferns"], models=["Naive Bayes", "Bagging"], seeds=3)
    several = makers("Phishing", told)
    assert {name: len(made) for name, made in several.items()} == {
        "ferns": 3, "Naive Bayes": 1, "Bagging": 3
    }  # fmt: skip
    assert [make().seed for make in several["ferns"]] == [0, 1, 2]
    assert [make().seed for make in several["Bagging"]] == [42, 43, 44]
    assert {len(made) for made in makers(ELEC2, told).values()} == {1}


def test_the_command_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "benchmarks/river_table.py --rows 150 --seeds 2 --learners sapl --models ALMA,Voting"
    monkeypatch.setattr(sys, "argv", command.split())
    river_table.main()
    text = capsys.readouterr().out
    assert f"`python {command}`" in text
    for name in BUNDLED:
        assert f"### {name}\n" in text
    assert text.count("| sapl |") == 3 and text.count("| Voting |") == 3
    assert text.count("| ALMA |") == 2


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["Nowhere"], "no data set Nowhere; there are: Bananas, Elec2, Phishing, ImageSegments"),
        (["Elec2"], "Elec2: say by --data DIR where electricity.npz is"),
        (["--models", "Forest"], "'Forest' is unknown"),
        (["--learners", "", "--models", ""], "nothing to measure"),
    ],
)
def test_a_wrong_command_is_told_what_to_do(
    wrong: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks/river_table.py", *wrong])
    with pytest.raises(SystemExit):
        river_table.main()
    assert told in capsys.readouterr().err
