"""What scikit-learn asks of an estimator, and what its tools make of ours."""

from __future__ import annotations

import datetime as dt
import inspect
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_moons
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import stream_llsvm
from stream_llsvm import sklearn as face
from stream_llsvm.extras import install_command
from stream_llsvm.learners.registry import CLASSIFIERS, LEARNERS
from tests.learners.support import SMALL, everything

ALL: list[Any] = [getattr(face, name) for name in face.__all__ if not name.startswith("Stream")]
KINDS = [kind for kind in ALL if kind._learner in SMALL]
ROOT = Path(__file__).resolve().parents[1]


def small(kind: Any, **options: Any) -> Any:
    return kind(**SMALL[kind._learner], **options)


@parametrize_with_checks([kind() for kind in ALL])  # type: ignore[untyped-decorator]
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    # None is expected to fail; the one for array API inputs skips itself where that is off.
    check(estimator)


def test_every_learner_has_a_face() -> None:
    assert {kind.__name__ for kind in ALL} == set(LEARNERS)
    for kind in ALL:
        assert kind._learner is getattr(stream_llsvm, kind.__name__)
        assert (kind.__module__, getattr(face, kind.__name__)) == (face.__name__, kind)
        # What type checkers read agrees with what is made.
        base = "Classifier" if kind.__name__ in CLASSIFIERS else "Regressor"
        assert f"class {kind.__name__}(Stream{base}): ..." in inspect.getsource(face)
        assert issubclass(kind, getattr(face, f"Stream{base}"))


@pytest.mark.parametrize("kind", KINDS)
def test_partial_fit_is_learn_many(kind: Any) -> None:
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    w = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    estimator = small(kind)
    river = estimator._learner(**SMALL[estimator._learner])
    for part in (slice(0, 10), slice(10, 60), slice(60, 150)):
        estimator.partial_fit(X[part], y[part], classes=[2, 0, 1], sample_weight=w[part])
        river.learn_many(X[part], y[part], w=w[part])
    assert everything(estimator.model_) == everything(river)
    assert estimator.classes_.tolist() == [0, 1, 2]
    proba = estimator.predict_proba(X)
    np.testing.assert_array_equal(
        proba[:, list(river.classes)], river.predict_proba_many(X), "columns in their order"
    )
    assert estimator.predict(X).tolist() == river.predict_many(X).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_fit_is_a_warm_start_and_begins_anew(kind: Any) -> None:
    X, y = load_iris(return_X_y=True)
    estimator = small(kind, epochs=3).fit(X[::-1], y[::-1]).fit(X, y)
    river = estimator._learner(**SMALL[estimator._learner])
    river.warm_start(X, y, epochs=3)
    assert everything(estimator.model_) == everything(river)


def test_a_class_that_has_not_come_yet_is_impossible() -> None:
    X, y = load_iris(return_X_y=True)
    estimator = face.SAPLClassifier().partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    proba = estimator.predict_proba(X)
    assert proba.shape == (150, 3)
    assert (proba[:, 2] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.isfinite(estimator.decision_function(X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_agree(kind: Any) -> None:
    X, y = make_moons(200, noise=0.3, random_state=0)
    two = small(kind, epochs=2).fit(X, np.where(y, "yes", "no"))
    assert ((two.decision_function(X) > 0) == (two.predict(X) == "yes")).all()
    X, y = load_iris(return_X_y=True)
    three = small(kind, epochs=2).fit(X, y)
    scores = three.decision_function(X)
    assert (scores.argmax(axis=1) == three.predict(X)).all()
    np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-9)


def test_in_a_grid_search_over_a_pipeline() -> None:
    X, y = make_moons(300, noise=0.2, random_state=0)
    pipe = make_pipeline(StandardScaler(), face.LLSVMClassifier(epochs=3))
    grid = {"llsvmclassifier__n_anchors": [1, 20], "llsvmclassifier__coding": ["softmax"]}
    search = GridSearchCV(pipe, grid, cv=3, n_jobs=1).fit(X, y)
    assert search.best_params_["llsvmclassifier__n_anchors"] == 20
    assert search.best_score_ > 0.93


def test_cross_validation_of_the_committee() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    assert cross_val_score(face.CommitteeClassifier(epochs=3), X, y, cv=3).mean() > 0.93


def test_calibration_wraps_it() -> None:
    X, y = make_moons(300, noise=0.2, random_state=0)
    wrapped = CalibratedClassifierCV(face.SAPLClassifier(epochs=2), cv=2).fit(X, y)
    assert wrapped.score(X, y) > 0.9


def documents(n: int) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(400)]
    texts, labels = [], []
    for _ in range(n):
        topic = int(rng.integers(2))
        own = rng.choice(200, 6) + 200 * topic
        texts.append(" ".join(words[i] for i in [*own, *rng.integers(0, 400, 4)]))
        labels.append(["sport", "trade"][topic])
    return texts, labels


def test_text_stays_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a sparse matrix was made dense")

    texts, labels = documents(600)
    pipe = make_pipeline(TfidfVectorizer(), MaxAbsScaler(), face.SAPLClassifier(epochs=3))
    for kind in (sparse.csr_matrix, sparse.csr_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    pipe.fit(texts[:400], labels[:400])
    assert pipe.score(texts[400:], labels[400:]) > 0.9


def test_a_narrow_sparse_matrix_is_the_dense_one() -> None:
    X, y = load_iris(return_X_y=True)
    X = np.where(X < 1.5, 0.0, X)
    dense: Any = face.SAPLClassifier(epochs=2).fit(X, y)
    other: Any = face.SAPLClassifier(epochs=2).fit(sparse.csr_array(X), y)
    assert everything(dense.model_) == everything(other.model_)
    np.testing.assert_array_equal(dense.predict_proba(X), other.predict_proba(sparse.csc_matrix(X)))


def test_missing_values_are_taken() -> None:
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    assert face.CommitteeClassifier(epochs=3).fit(X, y).score(X, y) > 0.9


def test_a_copy_predicts_the_same_and_learns_on() -> None:
    X, y = load_iris(return_X_y=True)
    one = face.FernsClassifier().fit(X, y)
    two = pickle.loads(pickle.dumps(one))
    for either in (one, two):
        either.partial_fit(X[:50], y[:50])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert not hasattr(clone(one), "model_")
    assert clone(one).get_params() == one.get_params()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_anchors": 0}, "n_anchors must be a whole number"),
        ({"epochs": 0}, "epochs must be a whole number"),
        ({"loss": "absolute"}, "loss must be one of"),
    ],
)
def test_bad_options_are_told_when_it_is_fitted(options: dict[str, Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        face.SAPLClassifier(**options).fit(X, y)


def test_bad_calls_of_partial_fit() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        face.SAPLClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"labels \[2\] are not among classes=\[0 1\]"):
        face.SAPLClassifier().partial_fit(X, y, classes=[0, 1])
    begun = face.SAPLClassifier().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="not the same as on the last call"):
        begun.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="sample_weight"):
        begun.partial_fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        face.SAPLClassifier(anchors=3)


NUMBERS: list[Any] = [face.LLSVMRegressor, face.PegasosRegressor]


@pytest.mark.parametrize("kind", NUMBERS)
def test_a_regressor_learns_on_as_its_learner_does(kind: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    w = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    estimator, river = kind(), kind._learner()
    for part in (slice(0, 100), slice(100, len(X))):
        estimator.partial_fit(X[part], y[part], sample_weight=w[part])
        river.learn_many(X[part], y[part], w=w[part])
    np.testing.assert_array_equal(estimator.predict(X), river.predict_many(X))


@pytest.mark.parametrize("kind", [face.SAPLClassifier, *NUMBERS])
def test_a_file_holds_all_that_was_fitted(tmp_path: Path, kind: Any) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    one = kind(max_mb=7, epochs=3)
    given = {"classes": [0, 1, 2, 3]} if hasattr(one, "predict_proba") else {}
    one.partial_fit(X, y, **given)
    one.save(tmp_path / "m.llsvm")
    two = kind.load(tmp_path / "m.llsvm")
    assert two.get_params() == one.get_params()
    assert list(two.feature_names_in_) == list(X.columns)
    answer = "predict_proba" if given else "predict"
    for either in (one, two):
        either.partial_fit(X[:20], y[:20])
    np.testing.assert_array_equal(getattr(one, answer)(X), getattr(two, answer)(X))
    assert type(stream_llsvm.load_model(tmp_path / "m.llsvm")) is kind._learner
    with pytest.raises(stream_llsvm.ModelFileError, match="was not saved by"):
        face.FernsClassifier.load(tmp_path / "m.llsvm")
    kind._learner().save(tmp_path / "bare.llsvm")
    with pytest.raises(stream_llsvm.ModelFileError, match="was not saved by"):
        kind.load(tmp_path / "bare.llsvm")


def test_an_explanation_names_the_columns() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted: Any = face.SAPLClassifier(epochs=2).fit(X, y)
    told = fitted.explain_one(X.iloc[[3]])
    assert list(told.contributions) == list(X.columns)
    assert told.bias + told.memory + sum(told.contributions.values()) == pytest.approx(told.score)
    bare: Any = face.SAPLClassifier(epochs=2).fit(X.to_numpy(), y)
    assert list(bare.explain_one(X.to_numpy()[3]).contributions) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="one record; got 2"):
        bare.explain_one(X.to_numpy()[:2])


def test_an_explanation_names_the_columns_also_in_contexts_and_for_a_row() -> None:
    days = [dt.datetime(2026, 1, 1 + day % 2, 12 * (day % 2)) for day in range(40)]
    objects = [{"page": "home"}, {"page": "shop"}] * 20
    X = pd.DataFrame({"when": days, "from": objects, "country": ["DE", "SE"] * 20, "a": 1.5})
    model: Any = face.CommitteeClassifier(epochs=1).fit(X, [0, 1] * 20)
    told = model.explain_one(X[:1])
    assert set(told.contributions) == set(told.weights) == {"when", "from.page", "country", "a"}
    fields = {field for context in told.contexts for field in context.values}
    assert {"from.page", "country"} <= fields
    assert fields <= {"when hour", "when weekday", "from.page", "country", "a"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.explain_one(X.iloc[0]) == told


@pytest.mark.parametrize("frames", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    "values",
    [
        ["ios", "web", "ios", "tv"] * 10,
        [dt.datetime(2026, 1, 1 + day % 2, 12 * (day % 2)) for day in range(40)],
    ],
)
def test_a_column_of_names_or_times_tells(frames: Any, values: list[Any]) -> None:
    X = frames({"a": [0.5] * 40, "device": values})
    y = [value == values[0] for value in values]
    for kind in (face.SAPLClassifier, face.CommitteeClassifier):
        model = kind().fit(X, y)
        assert model.score(X, y) == 1.0
        told = model.explain_one(X[:1] if frames is pl.DataFrame else X.iloc[:1])
        assert set(told.contributions) == {"a", "device"}
        assert kind().partial_fit(X, y, classes=[False, True]).predict(X).shape == (40,)
    assert face.PegasosRegressor().fit(X, np.array(y, dtype=float)).predict(X).shape == (40,)


def test_arrays_of_objects() -> None:
    X = np.array([["ios", 1.5, None], ["web", 2, "a b c"]] * 10, dtype=object)
    model = face.SAPLClassifier().fit(X, [0, 1] * 10)
    assert model.score(X, [0, 1] * 10) == 1.0
    text = np.array([["ios", "1.5"], ["web", "2"]] * 10)
    assert face.SAPLClassifier().fit(text, [0, 1] * 10).score(text, [0, 1] * 10) == 1.0


def test_columns_of_pandas() -> None:
    y = [0, 1, 0, 1]
    for column in (
        pd.Series(["a", "b", "a", "c"], dtype="category"),
        pd.Series(["a", "b", "a", None], dtype="string"),
        pd.Series(["a", 1, "a", None], dtype="object"),
    ):
        X = pd.DataFrame({"a": y, "device": column})
        assert face.SAPLClassifier().fit(X, y).score(X, y) == 1.0
    with pytest.raises(ValueError, match=r"column 'device' in row 0 .* has the value b'a'"):
        face.SAPLClassifier().fit(pd.DataFrame({"a": y, "device": [b"a"] * 4}), y)
    fine = pd.DataFrame({"a": y, "b": [True, False, True, True]}).astype({"a": "Int64"})
    assert face.SAPLClassifier().fit(fine, y).predict(fine).shape == (4,)
    double = pd.DataFrame([[1.0, 2.0]] * 4, columns=["a", "a"])
    with pytest.raises(ValueError, match="columns have one name: a; rename all but one"):
        face.SAPLClassifier().fit(double, y)


def test_what_the_page_shows_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "scikit_learn.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    exec(shown, space)
    X = space["X"]
    assert list(space["told"].contributions) == list(X.columns)
    np.testing.assert_array_equal(space["again"].predict(X), space["model"].predict(X))
    assert space["again"].score(X, space["y"]) > 0.9


def test_without_scikit_learn_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import stream_llsvm.sklearn"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert told.returncode != 0
    assert install_command("sklearn") in told.stderr.splitlines()[-1]
