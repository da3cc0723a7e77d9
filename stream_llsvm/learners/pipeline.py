"""A pipeline of river's that ends in one of our learners, as plain values, and made of them again.

What has no plain form (a class of the user's own, another learner of river's) is pickled if it was
said that pickles are trusted, and refused otherwise, both when it is written and when it is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.learners.keyed import KeyedClassifier
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.model.file import ModelFileError, write
from stream_llsvm.transformers.natives import UnfitError
from stream_llsvm.transformers.plain import CHAINS, Writer, is_chain, pickled
from stream_llsvm.transformers.restored import Functions, Reader
from stream_llsvm.version import __version__

#: What a payload holds that is no learner of the package.
PIPELINE, PICKLED = "Pipeline", "pickle"
_KNOW_MISSING = ("OrdinalEncoder", "PreviousImputer", "StatImputer")
_HOW = "trust_pickle=True writes it with pickle, and whoever can change the file can then run code"


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
    if not is_chain(model):
        return type(model).__name__ in _KNOW_MISSING
    return any(map(knows_missing, getattr(model, CHAINS[type(model).__name__]).values()))


def functions_in(model: Any) -> list[Callable[..., Any]]:
    """Return the functions that the transformers of a pipeline hold."""
    writer = Writer()
    if is_pipeline(model):
        for step in list(model.steps.values())[:-1]:
            try:
                writer.plain(step)
            except UnfitError:
                continue
    return list(writer.functions.values())


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
    writer, said = Writer(trust_pickle=trust_pickle), {"version": __version__}
    if not is_pipeline(model) or not is_own(learner_in(model)):
        if not trust_pickle:
            kind = type(learner_in(model)).__name__
            raise UnfitError(
                f"a {kind} is none of this package's learners, and has no file format that is safe "
                f"to read: {_HOW}"
            )
        return said | {"class": PICKLED, "pickle": pickled(model)}
    *before, last = model.steps
    steps = []
    for name in before:
        try:
            steps.append((name, writer.plain(model.steps[name])))
        except UnfitError as error:
            more = "" if trust_pickle else f"; {_HOW}"
            raise UnfitError(f"the step {name} of the pipeline: {error}{more}") from None
    learner = payload_of(model.steps[last], rows=rows)
    return said | {"class": PIPELINE, "steps": steps, "last": last, "model": learner}


def save_model(model: Any, path: str | os.PathLike[str], *, trust_pickle: bool = False) -> None:
    """Write a model, also a pipeline that ends in one of this package's, to one file.

    Parameters
    ----------
    model
        The model. River's transformers in front are written as plain data.
    path
        Where to. An existing file is replaced.
    trust_pickle
        Whether what has no plain form may be pickled.

    Raises
    ------
    ValueError
        If part of it has no plain form; the text says which, and what to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from river import preprocessing
    >>> from stream_llsvm import LLSVMClassifier, load_model, save_model
    >>> model = preprocessing.OneHotEncoder() | LLSVMClassifier()
    >>> model.learn_one({"country": "DE"}, "fraud")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.llsvm"
    >>> save_model(model, path)
    >>> load_model(path).predict_one({"country": "DE"})
    'fraud'

    """
    write(path, payload_of(model, trust_pickle=trust_pickle))


def pipeline_of(
    payload: Mapping[str, Any],
    made_of: Callable[[Mapping[str, Any]], Any],
    *,
    trust_pickle: bool = False,
    functions: Functions = (),
) -> Any:
    """Return the pipeline, or the pickled model, that a payload is of.

    Parameters
    ----------
    payload
        What `payload_of` gave, or what a file has instead.
    made_of
        Makes the learner of its part.
    trust_pickle, functions
        As for `load_model`.

    """
    reader = Reader(trust_pickle=trust_pickle, functions=functions)
    try:
        if payload["class"] == PICKLED:
            return reader.made(payload.get("pickle"))
        return _chained(payload, made_of, reader)
    except UnfitError as error:
        raise ModelFileError(f"the file's pipeline cannot be read: {error}") from None


def _chained(
    payload: Mapping[str, Any], made_of: Callable[[Mapping[str, Any]], Any], reader: Reader
) -> Any:
    steps, last = payload.get("steps"), payload.get("last")
    learner: Any = payload.get("model")
    sound = (
        type(steps) is list
        and type(last) is str
        and isinstance(learner, dict)
        and learner.get("class") not in (PIPELINE, PICKLED)
        and all(type(step) is tuple and len(step) == 2 for step in steps)
    )
    if not sound:
        raise UnfitError("a part of it is missing or wrong")
    from river import compose

    made = compose.Pipeline()
    for name, plain in [*cast(list[Any], steps), (last, None)]:
        if type(name) is not str or name in made.steps:
            raise UnfitError("two steps have the same name, or one has none")
        step = made_of(learner) if name == last else reader.made(plain)
        if name != last and not hasattr(step, "transform_one"):
            raise UnfitError(f"the step {name} is no transformer")
        made.steps[name] = step
    return made
