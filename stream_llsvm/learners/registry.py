"""The learners, one line each: what a file can hold, scikit-learn's face shows, and tests run.

They are named here and imported when asked for: numba and all that is compiled with it take half a
second, which ``stream-llsvm --help`` need not wait for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Where each class stands in this folder.
CLASSIFIERS = {
    "AdditiveSVMClassifier": "additive",
    "BoostedTreesClassifier": "boosted_trees",
    "BudgetedPegasosClassifier": "budgeted",
    "CSVMClassifier": "clustered",
    "CommitteeClassifier": "committee",
    "ContextsClassifier": "contexts",
    "FernsClassifier": "ferns",
    "L3SVMClassifier": "l3_svm",
    "LCCClassifier": "lcc",
    "LLSVMClassifier": "llsvm",
    "LocalSVMClassifier": "local_svm",
    "MemoryClassifier": "neighbours",
    "PegasosClassifier": "pegasos",
    "SAPLClassifier": "sapl",
}
REGRESSORS = {
    "LLSVMRegressor": "llsvm_regressor",
    "PegasosRegressor": "pegasos_regressor",
}
LEARNERS = CLASSIFIERS | REGRESSORS
#: What is made of a classifier: a model for each key.
KEYED = "KeyedClassifier"


def learner(name: str) -> type[Any]:
    """Return the class of that name; raises KeyError for every name that is not listed."""
    kind: type[Any] = getattr(import_module(f"stream_llsvm.learners.{LEARNERS[name]}"), name)
    return kind
