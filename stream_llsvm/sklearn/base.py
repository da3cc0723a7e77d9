"""What all estimators share: options, columns, explanations and files."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import os
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from stream_llsvm.learners.load import load_model
from stream_llsvm.learners.registry import learner
from stream_llsvm.model.explain import Explanation
from stream_llsvm.model.file import ModelFileError, read, write
from stream_llsvm.options import whole
from stream_llsvm.records.frames import as_matrix
from stream_llsvm.records.sparse import is_sparse

_NUMBERS: dict[str, Any] = {
    "accept_sparse": "csr",
    "ensure_all_finite": "allow-nan",
    "dtype": np.float64,
}
#: Of names, times and whatever else a record may hold; the learner reads it.
_ANYTHING = _NUMBERS | {"ensure_all_finite": False, "dtype": None}
#: The part of a model file that only this interface reads.
_PART = "sklearn"


class StreamEstimator(BaseEstimator):  # type: ignore[misc]
    """A learner of this package behind scikit-learn's interface; the subclasses say which."""

    _learner: ClassVar[type[Any]]
    #: What the documentation of each class ends with, given its ``name``.
    _example: ClassVar[str]

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # the model of a copy is another one, as that of a learner's

    def explain_one(self, x: Any) -> Explanation:
        """Return what each feature contributes to the answer to one record, by column.

        Parameters
        ----------
        x
            One record: a sequence of values, a row of a dataframe (``X.iloc[0]``), or a dataframe
            or an array of one row.

        """
        row = self._records(_as_rows(x))
        if row.shape[0] != 1:
            raise ValueError(f"explain_one explains one record; got {row.shape[0]}")
        dense = row.toarray() if hasattr(row, "toarray") else row
        found: Explanation = self.model_.explain_one(dict(enumerate(dense[0].tolist())))
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return found
        return dataclasses.replace(
            found,
            contributions={_named(names, i): v for i, v in found.contributions.items()},
            weights={_named(names, i): v for i, v in found.weights.items()},
            contexts=[
                dataclasses.replace(c, values={_named(names, i): v for i, v in c.values.items()})
                for c in found.contexts
            ],
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to one file, whole or not at all; `load` reads it.

        So does `stream_llsvm.load_model`, which returns the learner, as in ``model_``.

        Parameters
        ----------
        path
            Where to. An existing file is replaced.

        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        own = {
            "epochs": self.epochs,
            "n_features": self.n_features_in_,
            "names": None if names is None else names.tolist(),
            **self._saved(),
        }
        write(path, {**self.model_._payload(), _PART: own})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the estimator that `save` wrote; it continues as if it had never been saved.

        Parameters
        ----------
        path
            The file.

        """
        model, saved = load_model(path), read(path).get(_PART)
        if not isinstance(saved, dict) or type(model) is not cls._learner:
            raise ModelFileError(
                f"{os.fspath(path)}: it holds a {type(model).__name__} that was not saved by "
                f"stream_llsvm.sklearn.{cls.__name__}"
            )
        made = cls(**model._get_params(), epochs=saved["epochs"])
        made.model_, made.n_features_in_ = model, saved["n_features"]
        if saved["names"] is not None:
            made.feature_names_in_ = np.array(saved["names"], dtype=object)
        made._restored(saved)
        return made

    def _saved(self) -> dict[str, Any]:
        """Return what else is fitted, for a file."""
        return {}

    def _restored(self, saved: dict[str, Any]) -> None:
        """Take over what `_saved` returned."""

    def _new(self) -> Any:
        options = self.get_params(deep=False)
        del options["epochs"]
        return self._learner(**options)

    def _passes(self) -> int:
        return whole("epochs", self.epochs, 1, 1_000_000)

    def _records(self, X: Any) -> Any:
        """Return records to be answered, checked."""
        check_is_fitted(self)
        _check_columns(X)
        return _as_objects(validate_data(self, _of_objects(X), **_accepted(X), reset=False))

    def _validated(self, X: Any, y: Any, *, first: bool, **how: Any) -> tuple[Any, Any]:
        """Return records and what to learn of them, checked."""
        _check_columns(X)
        how |= _accepted(X)
        X, y = validate_data(self, _of_objects(X), y, **how, reset=first)
        return _as_objects(X), y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def face_of(name: str, face: type[StreamEstimator]) -> type[StreamEstimator]:
    """Make the class with scikit-learn's interface to a learner: its options, and ``epochs``."""
    kind = learner(name)
    epochs = inspect.Parameter("epochs", inspect.Parameter.KEYWORD_ONLY, default=10)
    own = list(inspect.signature(kind.__init__).parameters.values())
    signature = inspect.Signature([*own, epochs])

    def __init__(self: Any, *given: Any, **options: Any) -> None:
        # Checked when it is fitted, as scikit-learn wants it.
        bound = signature.bind(self, *given, **options)
        bound.apply_defaults()
        for option, value in list(bound.arguments.items())[1:]:
            setattr(self, option, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__doc__ = "Keep the options; `fit` checks them."
    title = str(inspect.getdoc(kind)).partition("\n")[0].rstrip(".")
    doc = f"{title}: see `stream_llsvm.{name}`.\n\n{face._example.format(name=name)}"
    parts = {"__init__": __init__, "__doc__": doc, "__module__": __package__, "_learner": kind}
    return type(name, (face,), parts)


def _named(names: Any, field: Any) -> Any:
    """Return a column's name by its number, also of a part of it: an hour, a field of an object."""
    part = str(field).lstrip("0123456789")
    return f"{names[int(str(field).removesuffix(part))]}{part}"


def _as_rows(x: Any) -> Any:
    """Return one record as rows: a row of a frame of pandas, which has names, as a frame."""
    if np.ndim(x) == 2:
        return x
    return x.to_frame().T if hasattr(x, "to_frame") and hasattr(x, "index") else [x]


def _accepted(X: Any) -> dict[str, Any]:
    """Return how scikit-learn shall check records: as numbers, unless there are others."""
    if hasattr(X, "columns"):
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return _NUMBERS
        kinds = frame.schema.values()
        return _NUMBERS if all(k.is_numeric() or k == nw.Boolean for k in kinds) else _ANYTHING
    if is_sparse(X):
        return _NUMBERS
    try:
        kind = X.dtype.kind if isinstance(X, np.ndarray) else np.asarray(X).dtype.kind
    except ValueError:  # rows of several lengths
        return _NUMBERS
    return _ANYTHING if kind in "OUM" else _NUMBERS


def _of_objects(X: Any) -> Any:
    """Return a frame of pandas with several kinds of columns as one of objects: numpy has none."""
    if _accepted(X) is _NUMBERS or not hasattr(X, "columns"):
        return X
    frame = nw.from_native(X, eager_only=True)
    return X.astype(object) if frame.implementation.is_pandas_like() else X


def _as_objects(X: Any) -> Any:
    """Return texts and times as an array of objects, in which a row may have several kinds."""
    return X.astype(object) if isinstance(X, np.ndarray) and X.dtype.kind in "UM" else X


def _check_columns(X: Any) -> None:
    """Raise ValueError if a column of a dataframe cannot be read, or has another one's name.

    What scikit-learn says of such a frame names no column.
    """
    names = getattr(X, "columns", None)
    if names is None:
        return
    several = sorted({str(name) for name in names if list(names).count(name) > 1})
    if several:
        raise ValueError(f"columns have one name: {', '.join(several)}; rename all but one")
    if _accepted(X) is _NUMBERS:
        return
    try:
        as_matrix(X)
    except ValueError as error:
        raise ValueError(str(error).replace("feature ", "column ", 1)) from None
