"""The learners that are measured: this project's, and river's to stand beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Set
from typing import Any

from river import (
    base,
    dummy,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    preprocessing,
    tree,
)
from scores import RecordLearner

OURS = {
    "sapl": "SAPLClassifier",
    "llsvm": "LLSVMClassifier",
    "lcc": "LCCClassifier",
    "committee": "CommitteeClassifier",
    "no-history": "CommitteeClassifier",
    "contexts": "ContextsClassifier",
    "additive": "AdditiveSVMClassifier",
    "memory": "MemoryClassifier",
    "ferns": "FernsClassifier",
    "trees": "BoostedTreesClassifier",
    "local": "LocalSVMClassifier",
    "csvm": "CSVMClassifier",
    "l3svm": "L3SVMClassifier",
    "pegasos": "PegasosClassifier",
    "budget": "BudgetedPegasosClassifier",
    "mapped": "LLSVMClassifier",
}

# Who reads the order of labels and nothing of the records.
HISTORY = "prior"
# What a table calls those whose short name does not say it.
TITLES = {"no-history": "committee without label history", "nochange": "last label"}

# Measured once with MOA's learners through CapyMOA 0.15.1, each record predicted before it was
# learned, banana and magic04 shuffled, covtype its first 100,000 rows. They are quoted, and marked
# so where they are shown.
QUOTED_SOURCE = "quoted, MOA through CapyMOA 0.15.1, not run here"
QUOTED: dict[str, dict[str, float]] = {
    "electricity": {
        "ARF(100)": 90.06, "ARF(10)": 89.29, "SRP(10)": 86.00, "LevBag(10)": 89.30, "kNN": 85.32
    },
    "covtype": {"ARF(100)": 93.67, "ARF(10)": 93.35, "SRP(10)": 93.85, "LevBag(10)": 91.46},
    "banana": {
        "ARF(100)": 88.83, "ARF(10)": 89.00, "SRP(10)": 89.08, "LevBag(10)": 88.28, "kNN": 88.25
    },
    "magic04": {
        "ARF(100)": 85.63, "ARF(10)": 85.17, "SRP(10)": 84.46, "LevBag(10)": 83.85, "kNN": 79.72
    },
    "keystroke": {
        "ARF(100)": 92.31, "ARF(10)": 91.69, "SRP(10)": 92.06, "LevBag(10)": 86.44, "kNN": 90.44
    },
}  # fmt: skip


def ours(name: str, **options: Any) -> Any:
    """Return a fresh learner of this project by its short name."""
    if name == "mapped":
        import stream_llsvm  # late, as in _class

        options = {"feature_map": stream_llsvm.HomogeneousKernelMap(), **options}
    if name == "no-history":
        usual = _class(name)().members
        options = {"members": tuple(kind for kind in usual if kind != HISTORY), **options}
    return _class(name)(**options)


def title(name: str) -> str:
    """Return what a table calls a learner."""
    return TITLES.get(name, name)


def quoted(stream: str) -> str:
    """Return the quoted figures of a stream as one cell."""
    figures = QUOTED.get(stream, {})
    return ", ".join(f"{name} {value:.2f}" for name, value in figures.items()) or "-"


def options_of(name: str) -> Set[str]:
    """Return what a learner of this project can be told at construction."""
    return inspect.signature(_class(name)).parameters.keys()


def logistic_regression(classes: int) -> RecordLearner:
    """Return river's scaled logistic regression, one against the rest if there are many classes."""
    model: base.Classifier = linear_model.LogisticRegression()
    if classes > 2:
        model = multiclass.OneVsRestClassifier(model)
    return _scaled(model)


def softmax_regression(classes: int) -> RecordLearner:
    """Return river's scaled logistic regression; of many classes, its softmax regression."""
    two = classes <= 2
    return _scaled(linear_model.LogisticRegression() if two else linear_model.SoftmaxRegression())


def naive_bayes_of_gaussians(classes: int) -> RecordLearner:
    """Return river's naive Bayes, a Gaussian a feature and class."""
    return naive_bayes.GaussianNB()


def hoeffding_tree(classes: int) -> RecordLearner:
    """Return river's Hoeffding tree."""
    return tree.HoeffdingTreeClassifier()


def adaptive_forest(classes: int) -> RecordLearner:
    """Return river's adaptive random forest of ten trees."""
    return forest.ARFClassifier(n_models=10, seed=1)


def nearest_neighbours(classes: int) -> RecordLearner:
    """Return river's k nearest neighbours over scaled features."""
    return _scaled(neighbors.KNNClassifier())


def mondrian_forest(classes: int) -> RecordLearner:
    """Return river's aggregated Mondrian forest of ten trees."""
    return forest.AMFClassifier(n_estimators=10, seed=1)


def majority(classes: int) -> RecordLearner:
    """Return the learner that answers with the class frequencies seen so far."""
    return dummy.PriorClassifier()


def no_change(classes: int) -> RecordLearner:
    """Return the learner that answers with the last label."""
    return dummy.NoChangeClassifier()


PEERS: dict[str, Callable[[int], RecordLearner]] = {
    "majority": majority,
    "nochange": no_change,
    "logreg": logistic_regression,
    "softmax": softmax_regression,
    "bayes": naive_bayes_of_gaussians,
    "tree": hoeffding_tree,
    "arf": adaptive_forest,
    "knn": nearest_neighbours,
    "amf": mondrian_forest,
}


def _class(name: str) -> Any:
    # Imported here so that river's learners can be measured without waiting for it.
    import stream_llsvm

    return getattr(stream_llsvm, OURS[name])


def _scaled(model: base.Classifier) -> RecordLearner:
    return preprocessing.StandardScaler() | model
