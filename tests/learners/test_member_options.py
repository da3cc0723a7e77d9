"""The new classifiers' options are checked when a model is made, and each of them matters."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from stream_llsvm import (
    AdditiveSVMClassifier,
    BudgetedPegasosClassifier,
    CommitteeClassifier,
    FernsClassifier,
    L3SVMClassifier,
    LocalSVMClassifier,
    MemoryClassifier,
    PegasosClassifier,
)
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.committee import MEMBERS
from stream_llsvm.members.registry import KINDS
from tests.learners.support import NEW_LEARNERS, everything, records, small, taught
from tests.learners.test_options import ALLOWED as SHARED_ALLOWED
from tests.learners.test_options import NO_FLAG, NO_NUMBER, NO_WHOLE
from tests.learners.test_options import REFUSED as SHARED_REFUSED

SHARED = ("standardize", "loss", "multiclass", "max_mb", "seed")
ONE_OF = (
    "members are 'anchors', 'additive', 'memory', 'ferns', 'local', 'landmarks', "
    "'pegasos', 'linear', 'prior', 'waves', 'trees', 'contexts', 'words', with a size or without: "
    "got "
)
REFUSED: dict[str, tuple[list[Any], str]] = {
    **{name: SHARED_REFUSED[name] for name in SHARED},
    "budget": (
        ["Auto", *NO_WHOLE, 0, -1, 10**13],
        r'budget \(if it is not "auto"\) must be a whole number from 1 to 1,000,000,000,000',
    ),
    "threads": ([*NO_WHOLE, 0, 1_025], "threads must be a whole number from 1 to 1,024"),
    "n_clusters": ([*NO_WHOLE, 0, 100_001], "n_clusters must be a whole number from 1 to 100,000"),
    "global_share": ([*NO_NUMBER, -0.1, 1_001], "global_share must be a number from 0 to 1000"),
    "step_size": ([*NO_NUMBER[1:], 0, "paper"], "step_size"),
    "l2": SHARED_REFUSED["l2"],
    "sharpness": ([*NO_NUMBER, 0, 1e4], "sharpness must be a number from 0.001 to 1000"),
    "n_machines": ([*NO_WHOLE, 0, 1_001], "n_machines must be a whole number from 1 to 1,000"),
    "norm": ([*NO_NUMBER, 0.9, 101], "norm must be a number from 1 to 100"),
    "n_knots": ([*NO_WHOLE, 1, 1_026], "n_knots must be a whole number from 2 to 1,025"),
    "window": ([*NO_WHOLE, 0, 10**6 + 1], "window must be a whole number from 1 to 1,000,000"),
    "metric": (["", "euclid", 1, True, ["learned"]], "metric must be one of 'learned'"),
    "n_cells": (
        [*NO_WHOLE, 0, 1_023, 2**20 + 1],
        "n_cells must be a whole number from 1,024 to 1,048,576",
    ),
    "n_ferns": ([*NO_WHOLE, 0, 10_001], "n_ferns must be a whole number from 1 to 10,000"),
    "n_trees": ([*NO_WHOLE, 0, 10_001], "n_trees must be a whole number from 1 to 10,000"),
    "n_leaves": ([*NO_WHOLE, 1, 1_025], "n_leaves must be a whole number from 2 to 1,024"),
    "depth": ([*NO_WHOLE, 0, 17], "depth must be a whole number from 1 to 16"),
    "k": (["3", None, True, 0, 33, float("nan")], "k must be a number from 0.1 to 32"),
    "kernel": (["", "poly", 1, None, ["rbf"]], "kernel must be one of 'rbf', 'linear'"),
    "C": (["1", None, True, 0, 1e7, float("nan")], r"C must be a number from 1e-06 to 1e\+06"),
    "sigma": (
        ["auto", None, True, 0, 1e4, float("nan")],
        r'sigma \(if it is not "local"\) must be a number from 0.001 to 1000',
    ),
    "n_landmarks": (
        ["all", None, True, 0, 10_001],
        r'n_landmarks \(if it is not "auto"\) must be a whole number from 1 to 10,000',
    ),
    "projection": (["", "poly", 1, None], "projection must be one of 'linear', 'rbf'"),
    "landmarks": (["", "kmeans", 1, None], "landmarks must be one of 'auto', 'random', 'pca'"),
    "maintenance": (["", "projection", 1, None], "maintenance must be one of 'merging', 'removal'"),
    "gamma": (
        ["scale", None, True, 0, 1e10, float("nan")],
        r'gamma \(if it is not "auto"\) must be a number from 1e-09 to 1e\+09',
    ),
    "t0": (
        [*NO_WHOLE, -1, 10**13],
        r't0 \(if it is not "auto"\) must be a whole number from 0 to 1,000,000,000,000',
    ),
    "batch_size": ([*NO_WHOLE, 0, 10**10], "batch_size must be a whole number from 1 to"),
    "replace": (["", "newest", 1, None], "replace must be one of 'oldest', 'random'"),
}
#: What one kind understands by an option that others have too.
OWN_REFUSED: dict[type[LocalClassifier], dict[str, tuple[list[Any], str]]] = {
    LocalSVMClassifier: {
        "metric": (["", "learned", 1, True], "metric must be one of 'diagonal', 'megm'"),
    },
    L3SVMClassifier: {
        "sigma": (["local", None, True, 0, 1e4], "sigma must be a number from 0.001 to 1000"),
    },
    BudgetedPegasosClassifier: {
        "budget": (
            [*NO_WHOLE, "auto", 0, 100_001],
            "budget must be a whole number from 1 to 100",
        ),
        "l2": ([*NO_NUMBER, 0, 1.1, float("nan")], "l2 must be a number from 1e-12 to 1"),
        "forgets": (NO_FLAG, "forgets must be True or False"),
    },
    PegasosClassifier: {
        "l2": ([*NO_NUMBER, 0, 1e7, float("nan")], "l2 must be a number from 1e-12 to 1e"),
        "loss": (["", "huberized_hinge", 1], "loss must be one of 'hinge', 'squared_hinge'"),
        "t0": ([*NO_WHOLE, -1, 10**13, "auto"], "t0 must be a whole number from 0 to"),
        "projection": (NO_FLAG, "projection must be True or False"),
        "forgets": (NO_FLAG, "forgets must be True or False"),
    },
}
OWN_ALLOWED: dict[type[LocalClassifier], dict[str, list[Any]]] = {
    LocalSVMClassifier: {"metric": ["diagonal", "megm", None]},
    L3SVMClassifier: {"sigma": [1e-3, 2, 1e3]},
    BudgetedPegasosClassifier: {
        "budget": [1, 100_000],
        "l2": [1e-12, 1],
        "forgets": [True, False],
    },
    PegasosClassifier: {
        "l2": [1e-12, 1e6],
        "loss": ["hinge", "squared_hinge", "logistic"],
        "t0": [0, 10**12],
        "projection": [True, False],
        "forgets": [True, False],
    },
}
ALLOWED: dict[str, list[Any]] = {
    **{name: SHARED_ALLOWED[name] for name in SHARED},
    "budget": ["auto", 1, 10**12],
    "threads": [1, 1_024],
    "n_clusters": [1, 100_000],
    "global_share": [0.0, 1, 1_000],
    "step_size": ["auto", 2.0],
    "l2": [0.0, 1],
    "sharpness": [1e-3, 1, 1e3],
    "n_machines": [1, 1_000],
    "norm": [1, 1.5, 100.0],
    "n_knots": [2, 1_025],
    "window": [1, 10**6],
    "metric": ["learned", None],
    "n_cells": [1_024, 5_000, 2**20],
    "n_ferns": [1, 10_000],
    "depth": [1, 16],
    "k": [0.1, 3, 32.0],
    "kernel": ["rbf", "linear"],
    "C": [1e-6, 1, 1e6],
    "sigma": ["local", 1e-3, 2, 1e3],
    "replace": ["oldest", "random"],
    "batch_size": [1, 10**9],
    "maintenance": ["merging", "removal"],
    "gamma": ["auto", 1e-9, 1, 1e9],
    "t0": ["auto", 0, 10**12],
    "n_landmarks": ["auto", 1, 10_000],
    "projection": ["linear", "rbf"],
    "landmarks": ["auto", "random", "pca"],
}


def options_of(kind: type[LocalClassifier]) -> set[str]:
    return set(kind()._get_params())


each = pytest.mark.parametrize("kind", NEW_LEARNERS)


@each
def test_what_is_refused(kind: type[LocalClassifier]) -> None:
    make: Any = kind
    for name in options_of(kind) - {"members"}:
        values, message = OWN_REFUSED.get(kind, {}).get(name, REFUSED.get(name, ([], "")))
        assert values, f"nothing is tried that {name} refuses"
        for value in values:
            with pytest.raises(ValueError, match=message) as told:
                make(**{name: value})
            assert repr(value) in str(told.value), "the message shows what was given"


@each
def test_what_is_allowed(kind: type[LocalClassifier]) -> None:
    make: Any = kind
    for name in options_of(kind) - {"members"}:
        for value in OWN_ALLOWED.get(kind, {}).get(name, ALLOWED.get(name, [])):
            model = make(**{name: value})
            assert getattr(model, name) == value
            assert model.clone()._get_params() == model._get_params()


@each
def test_an_option_that_does_not_exist(kind: type[LocalClassifier]) -> None:
    make: Any = kind
    with pytest.raises(TypeError, match="n_anchor"):
        make(n_anchor=5)


@each
def test_the_options_are_documented(kind: type[LocalClassifier]) -> None:
    text = inspect.cleandoc(kind.__doc__ or "")
    for name in options_of(kind):
        assert f"\n{name}\n    " in text


MATTER: list[tuple[type[LocalClassifier], dict[str, Any]]] = [
    *((kind, {"standardize": False}) for kind in NEW_LEARNERS),
    *((kind, {"loss": "hinge"}) for kind in (AdditiveSVMClassifier, FernsClassifier)),
    *((kind, {"multiclass": "ovr"}) for kind in (AdditiveSVMClassifier, FernsClassifier)),
    *((kind, {"seed": 9}) for kind in (FernsClassifier, CommitteeClassifier)),
    (AdditiveSVMClassifier, {"n_knots": 9}),
    (MemoryClassifier, {"window": 50}),
    (MemoryClassifier, {"metric": None}),
    *(
        (LocalSVMClassifier, {name: value})
        for name, value in {
            "window": 50,
            "k": 1.0,
            "metric": None,
            "kernel": "linear",
            "C": 0.1,
            "sigma": 0.3,
            "replace": "random",
        }.items()
    ),
    (LocalSVMClassifier, {"metric": "diagonal"}),
    (LocalSVMClassifier, {"replace": "random", "seed": 9}),
    *(
        (L3SVMClassifier, {name: value})
        for name, value in {
            "n_clusters": 3,
            "n_landmarks": 2,
            "projection": "rbf",
            "landmarks": "random",
            "loss": "hinge",
            "multiclass": "ovr",
        }.items()
    ),
    (L3SVMClassifier, {"projection": "rbf", "sigma": 0.3}),
    (L3SVMClassifier, {"landmarks": "random", "seed": 9}),
    *(
        (BudgetedPegasosClassifier, {name: value})
        for name, value in {
            "budget": 3,
            "maintenance": "removal",
            "gamma": 0.3,
            "l2": 1e-2,
            "t0": 0,
            "loss": "huberized_hinge",
            "multiclass": "crammer_singer",
        }.items()
    ),
    *(
        (PegasosClassifier, {name: value})
        for name, value in {
            "l2": 1.0,
            "batch_size": 2,
            "projection": False,
            "loss": "squared_hinge",
            "t0": 100,
        }.items()
    ),
    (FernsClassifier, {"n_ferns": 7}),
    (FernsClassifier, {"depth": 5}),
    (CommitteeClassifier, {"members": ("anchors:1", "ferns:8")}),
]


@pytest.mark.parametrize(("kind", "options"), MATTER)
def test_each_option_matters(kind: type[LocalClassifier], options: dict[str, Any]) -> None:
    stream = records(300)
    plain, other = taught(small(kind), stream), taught(small(kind, **options), stream)
    told = [
        [model.predict_proba_one(x) for x, _ in records(20, seed=1)] for model in (plain, other)
    ]
    assert told[0] != told[1]


@pytest.mark.parametrize("kind", [AdditiveSVMClassifier, MemoryClassifier])
def test_where_nothing_is_random_the_seed_changes_nothing(kind: type[LocalClassifier]) -> None:
    stream = records(200)
    models = [taught(small(kind, seed=seed), stream) for seed in (0, 1)]
    assert everything(models[0]) == everything(models[1])


# ---- a committee's members


@pytest.mark.parametrize(
    "text",
    ["", "anchor", "Anchors", "anchors;3", "forest", ":3", 7, None, ("anchors", 3), b"anchors"],
)
def test_members_that_do_not_exist(text: Any) -> None:
    with pytest.raises(ValueError, match=ONE_OF):
        CommitteeClassifier(members=("anchors:1", text))


@pytest.mark.parametrize("size", ["0", "-1", "x", "1.5", "1e3", " 3", "3:4", "10000000", "³"])
def test_sizes_that_are_none(size: str) -> None:
    for name in KINDS:
        with pytest.raises(ValueError, match=rf"the size in '{name}:.*must be a whole number"):
            CommitteeClassifier(members=(f"{name}:{size}",))


@pytest.mark.parametrize("members", [(), [], None, "anchors", {"anchors": 1}, 3])
def test_members_that_are_no_list(members: Any) -> None:
    with pytest.raises(ValueError, match="members must be a tuple of names; got"):
        CommitteeClassifier(members=members)


@pytest.mark.parametrize("name", KINDS)
def test_a_member_of_each_kind_and_size(name: str) -> None:
    kind = KINDS[name]
    assert kind.name == name
    for text in (name, *(f"{name}:{size}" for size in (kind.size, kind.least, kind.most))):
        model = CommitteeClassifier(members=(text,))
        assert model._members()[0].name == (f"{name}:{kind.size}" if text == name else text)


def test_the_usual_members_are_well_formed() -> None:
    assert CommitteeClassifier().members == MEMBERS
    assert CommitteeClassifier(members=MEMBERS)._get_params()["members"] == MEMBERS


@pytest.mark.parametrize("standardize", NO_FLAG)
def test_a_flag_that_is_none(standardize: Any) -> None:
    with pytest.raises(ValueError, match="standardize must be True or False; got"):
        CommitteeClassifier(standardize=standardize)
