"""A pipeline of river's that ends in one of our learners: that is plain data, the rest is pickled.

What stands before the learner, and any other learner of river's, is pickled if it was said that
pickles are trusted, and refused otherwise, both when it is written and when it is read.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.model.file import ModelFileError, write
from stream_llsvm.version import __version__

#: What a payload holds that is no learner of the package.
PIPELINE, PICKLED = "Pipeline", "pickle"
#: Steps in a row, side by side, and multiplied: where each keeps its steps.
_CHAINS = {"Pipeline": "steps", "TransformerUnion": "transformers"}
_CHAINS["TransformerProduct"] = _CHAINS["TransformerUnion"]
_KNOW_MISSING = ("OrdinalEncoder", "PreviousImputer", "StatImputer")
_HOW = (
    "trust_pickle=True (--trust-pickle on the command line) writes and reads it with pickle, and "
    "whoever can change the file can then run code"
)


class UnfitError(ValueError):
    """Part of a model has no form that is safe to read; the text says which, and what to do."""


def is_pipeline(model: object) -> bool:
    """Whether this is river's pipeline; nothing is imported to find out."""
    kind = type(model)
    return kind.__name__ == PIPELINE and kind.__module__ == "river.compose.pipeline"


def learner_in(model: Any) -> Any:
    """Return the learner itself: of a pipeline its last step.

    Parameters
    ----------
    model
        A pipeline, or any learner.

    """
    return model[len(model) - 1] if is_pipeline(model) and len(model) > 0 else model


def shared_in(model: Any) -> Any:
    """Return the learner that is for all records: of a model for each key the global one.

    Parameters
    ----------
    model
        A pipeline, or any learner.

    """
    learner = learner_in(model)
    return learner.model if isinstance(learner, KeyedClassifier) else learner


def knows_missing(model: Any) -> bool:
    """Whether a step of a pipeline wants values that are missing named, as None.

    The others of river's want them left out: to scale None is an error.

    Parameters
    ----------
    model
        A pipeline, or any learner.

    """
    kind = type(model)
    if kind.__name__ not in _CHAINS or not kind.__module__.startswith("river.compose."):
        return kind.__name__ in _KNOW_MISSING
    return any(map(knows_missing, getattr(model, _CHAINS[kind.__name__]).values()))


def is_own(model: object) -> bool:
    """Whether a model is one of this package's, and no pipeline around one."""
    return isinstance(model, LocalClassifier | NumberLearner | KeyedClassifier)


def payload_of(model: Any, *, trust_pickle: bool = False, rows: bool = True) -> dict[str, Any]:
    """Return a model as plain values that `load_model` reads; nothing in it changes any more.

    Unless ``rows`` is said, those of the keys of a model for each key are left out.

    Raises
    ------
    UnfitError
        If part of it has no plain form, and pickles are not trusted; the text says which.

    """
    if is_own(model):
        keyed = isinstance(model, KeyedClassifier)
        payload: dict[str, Any] = model._payload(rows=rows) if keyed else model._payload()
        return payload
    said = {"version": __version__}
    if not is_pipeline(model) or not is_own(learner_in(model)):
        if not trust_pickle:
            kind = type(learner_in(model)).__name__
            raise UnfitError(
                f"a {kind} is none of this package's learners, and has no file format that is safe "
                f"to read: {_HOW}"
            )
        return said | {"class": PICKLED, "pickle": _pickled(model)}
    *before, last = model.steps
    if not trust_pickle:
        raise UnfitError(
            f"the steps before the model ({', '.join(before)}) have no file format that is safe to "
            "read. Records with names, times, texts, missing values and numbers of any scale need "
            f"no encoder and no scaler: leave them out; or {_HOW}"
        )
    steps = _pickled([(name, model.steps[name]) for name in before])
    learner = payload_of(model.steps[last], rows=rows)
    return said | {"class": PIPELINE, "pickle": steps, "last": last, "model": learner}


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value, protocol=5)
    except Exception as error:
        raise UnfitError(
            f"it cannot be pickled: {error}; functions have a place to be found at if you define "
            "them with def in a module"
        ) from None


def save_model(model: Any, path: str | os.PathLike[str], *, trust_pickle: bool = False) -> None:
    """Write a model, also a pipeline that ends in one of this package's, to one file.

    Parameters
    ----------
    model
        The model.
    path
        Where to. An existing file is replaced.
    trust_pickle
        Whether what stands before it in a pipeline, or a model of river's, may be pickled.

    Raises
    ------
    ValueError
        If part of it could only be pickled; the text says which, and what to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from river import preprocessing
    >>> from stream_llsvm import LLSVMClassifier, load_model, save_model
    >>> model = preprocessing.OneHotEncoder() | LLSVMClassifier()
    >>> model.learn_one({"country": "DE"}, "fraud")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.llsvm"
    >>> save_model(model, path, trust_pickle=True)
    >>> load_model(path, trust_pickle=True).predict_one({"country": "DE"})
    'fraud'

    """
    write(path, payload_of(model, trust_pickle=trust_pickle))


def pipeline_of(
    payload: Mapping[str, Any],
    made_of: Callable[[Mapping[str, Any]], Any],
    *,
    trust_pickle: bool = False,
) -> Any:
    """Return the pipeline, or the pickled model, of what `payload_of` gave or a file has instead.

    ``made_of`` makes the learner of its part.
    """
    if "steps" in payload:
        raise ModelFileError(
            "the file's pipeline is written as plain data, which 0.2.0 reads last: read it with "
            "that, and save the learner alone"
        )
    if type(payload.get("pickle")) is not bytes:
        raise ModelFileError("the file's pipeline cannot be read: a part of it is missing or wrong")
    if not trust_pickle:
        raise ModelFileError(
            "the file has pickled parts, which can run any code: if it is your own, "
            "load_model(path, trust_pickle=True), or --trust-pickle on the command line"
        )
    try:
        found = pickle.loads(payload["pickle"])
        if payload["class"] == PICKLED:
            return found
        from river import compose

        for name, step in found:
            if not hasattr(step, "transform_one"):
                raise ModelFileError(f"the file's pipeline: the step {name} is no transformer")
        return compose.Pipeline(*found, (payload["last"], made_of(payload["model"])))
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"the file's pipeline cannot be read: {error}") from None
