"""How far a locally linear SVM is from its optimum: what the online solution comes close to.

`solve` finds the optimum of LL(10) for given codes (``optimum.py``); `problem_of` reads anchors,
codes and weights off a model; `objective` says what either is worth.
"""

from __future__ import annotations

from typing import Any

from stream_llsvm.learners.anchored import AnchorClassifier
from stream_llsvm.learners.problem import Problem, problem_at
from stream_llsvm.members.anchors.codes import CODINGS, RECONSTRUCTION
from stream_llsvm.optimum import BIAS_SCALE, Codes, Solution, objective, softmax_codes, solve
from stream_llsvm.records.frames import as_matrix

__all__ = [
    "BIAS_SCALE",
    "Codes",
    "Problem",
    "Solution",
    "objective",
    "problem_of",
    "softmax_codes",
    "solve",
]


def problem_of(model: AnchorClassifier, X: Any) -> Problem:
    """Read off a model how it sees these records, and its weights.

    Parameters
    ----------
    model
        A model without the common machine: ``step_size="paper"``, or an `LCCClassifier`.
    X
        Records, as its `predict_many` takes them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4_000, 3))
    >>> y = np.sin(2 * X[:, 0]) + rng.normal(size=4_000) > 0
    >>> from stream_llsvm import LLSVMClassifier
    >>> model = LLSVMClassifier(
    ...     n_anchors=20, step_size="paper", loss="hinge", multiclass="ovr", l2=1e-3, t0=1_000
    ... )
    >>> model.warm_start(X, y, epochs=10)
    >>> problem = problem_of(model, X)
    >>> signs = np.where(y, 1, -1) * (1 if model.classes[1] else -1)
    >>> ours = objective(
    ...     problem.X, signs, problem.codes, problem.weights[0], problem.biases[0], l2=1e-3
    ... )
    >>> round(ours / solve(problem.X, signs, problem.codes, l2=1e-3).objective, 2)
    1.0...

    """
    memory = model._state
    if memory is None:
        raise ValueError("nothing has been learned yet, so the model has no anchors")
    if len(memory.views(1)["gain"]) > model.n_anchors:
        raise ValueError(
            "the common machine answers every record beside the anchors, which LL(10) does not "
            'know: choose step_size="paper"'
        )
    if CODINGS[model.coding] == RECONSTRUCTION:
        raise ValueError('codes by coding="reconstruction" cannot be read off a model')
    names, matrix, _ = as_matrix(X)
    return problem_at(memory, model._features, names, matrix)
