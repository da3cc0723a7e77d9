"""Read a saved model back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import Any

from stream_llsvm.learners.pipeline import PICKLED, PIPELINE, learner_in, pipeline_of
from stream_llsvm.learners.registry import CLASSIFIERS, KEYED, LEARNERS, learner
from stream_llsvm.model.file import ModelFileError, read
from stream_llsvm.removed import removed

_PARTS = {
    "class": str,
    "params": dict,
    "features": tuple,
    "labels": tuple,
    "width": int,
    "local_width": int,
}


def load_model(
    path: str | os.PathLike[str],
    *,
    trust_pickle: bool = False,
    spill: str | os.PathLike[str] | None = None,
) -> Any:
    """Read a model that `save` or `save_model` wrote; it continues as if it had not been saved.

    Parameters
    ----------
    path
        The file.
    trust_pickle
        Whether pickled parts are read, too. Reading them can run any code: say so only of files
        that nobody else could have changed.
    spill
        The folder to which a model for each key spills those beyond its ``max_keys``. If the saved
        one did, and none is given, that for temporary files.

    Raises
    ------
    ModelFileError
        If the file is not a model's, is truncated or damaged, or was written by a newer version.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stream_llsvm import LLSVMClassifier, load_model
    >>> model = LLSVMClassifier()
    >>> model.learn_one({"a": 1.0}, "yes")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.llsvm"
    >>> model.save(path)
    >>> load_model(path).predict_one({"a": 2.0})
    'yes'

    """
    return from_payload(read(path), trust_pickle=trust_pickle, spill=spill)


def from_payload(
    payload: Mapping[str, Any],
    *,
    trust_pickle: bool = False,
    spill: str | os.PathLike[str] | None = None,
) -> Any:
    """Make a model from what `save` put into the file; ModelFileError if it is none."""
    if payload.get("class") in (PIPELINE, PICKLED):
        made = partial(from_payload, spill=spill)
        model = pipeline_of(payload, made, trust_pickle=trust_pickle)
        if not hasattr(learner_in(model), "predict_one"):
            found = type(learner_in(model)).__name__
            raise ModelFileError(f"the file holds a {found}, which predicts nothing")
        return model
    if payload.get("class") == KEYED:
        return _keyed(payload, spill)
    for part, expected in _PARTS.items():
        if type(payload.get(part)) is not expected:
            raise ModelFileError(f"the file holds no model: its part {part!r} is missing or wrong")
    name = payload["class"]
    # Only what is listed is ever made from a file: its text is looked up, never imported.
    if name not in LEARNERS:
        why = f"a {name!r}, which this version does not know: upgrade stream_llsvm"
        raise ModelFileError(f"the file holds {removed(name) or why}")
    kind = learner(name)
    try:
        model = kind(**payload["params"])
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the file's options are not {kind.__name__}'s: {error}") from None
    try:
        model._restore(payload)
    except ModelFileError:
        raise
    except (LookupError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"the file's contents do not fit together: {error}") from None
    return model


def _keyed(payload: Mapping[str, Any], spill: str | os.PathLike[str] | None) -> Any:
    """Make a model for each key, and the global model in it, of what a file has."""
    from stream_llsvm.learners.keyed import KeyedClassifier

    inner: Any = payload.get("model")
    if not isinstance(inner, dict) or inner.get("class") not in CLASSIFIERS:
        raise ModelFileError("the file's global model is missing or wrong")
    if payload.get("max_keys") is None:
        spill = None
    elif spill is None and payload.get("spills") is True:
        spill = tempfile.gettempdir()
    try:
        key, most, features = (payload[name] for name in ("key", "max_keys", "most_features"))
        made = KeyedClassifier(from_payload(inner), key, most, features, spill)
        made._restore(payload["bank"])
    except ModelFileError:
        raise
    except (LookupError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"what the file says of keys does not fit: {error}") from None
    return made
