"""Class labels <-> codes, and a batch's labels as a list."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from typing import Any, overload

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from stream_llsvm.records.values import is_missing, show

# Nothing of these types stands for a missing label; a look at the type is the quickest answer.
_NEVER_MISSING = frozenset({bool, int, str, bytes})


class LabelSpace:
    """Labels <-> codes 0..C-1, in order of appearance.

    Labels are whatever the user's records carry: strings, numbers, booleans, tuples. Labels
    that are equal are one label, and the first seen object is kept: after True, the labels
    ``numpy.True_``, 1 and 1.0 all mean True. Numpy scalars are kept as the Python values that
    equal them.

    Parameters
    ----------
    labels
        Labels to start with, in the order of their codes (a saved model's).

    Examples
    --------
    >>> space = LabelSpace()
    >>> space.add("spam"), space.add("ham"), space.add("spam")
    (0, 1, 0)
    >>> space.labels
    ('spam', 'ham')
    >>> space.code("eggs")
    -1

    """

    __slots__ = ("_codes", "labels")

    def __init__(self, labels: Iterable[Hashable] = ()) -> None:
        self._codes: dict[Any, int] = {}
        self.labels: tuple[Any, ...] = ()
        for label in labels:
            self.add(label)

    def __len__(self) -> int:
        return len(self._codes)

    def __reduce__(self) -> tuple[type[LabelSpace], tuple[tuple[Any, ...]]]:
        return type(self), (self.labels,)

    def code(self, label: Hashable) -> int:
        """Return the label's code, -1 if the label is not known.

        Parameters
        ----------
        label
            A label.

        Raises
        ------
        ValueError
            If the label is missing (None, NaN) or not hashable.

        """
        try:
            return self._codes[label]
        except KeyError:
            if is_missing(label):
                raise ValueError(
                    f"the label is missing ({show(label)}): a record without a label can be "
                    "predicted, but not learned from"
                ) from None
            return -1
        except TypeError:
            raise ValueError(
                f"the label {show(label)} ({type(label).__name__}) is not hashable: use a "
                "string, a number, a boolean or a tuple of them"
            ) from None

    def add(self, label: Hashable) -> int:
        """Return the label's code, giving it the next one if it is new.

        Parameters
        ----------
        label
            A label.

        Raises
        ------
        ValueError
            If the label is missing (None, NaN) or not hashable.

        """
        code = self.code(label)
        if code < 0:
            code = len(self._codes)
            kept = _plain(label)
            self._codes[kept] = code
            self.labels = (*self.labels, kept)
        return code

    def known(self, labels: Sequence[Hashable]) -> NDArray[np.int64] | None:
        """Return the labels' codes if all of them are known, else None.

        Parameters
        ----------
        labels
            Labels, maybe missing ones, maybe some that are none.

        """
        try:
            return np.fromiter(map(self._codes.__getitem__, labels), np.int64, len(labels))
        except (KeyError, TypeError):
            return None

    def unknown(self, labels: Iterable[Hashable]) -> set[Hashable]:
        """Return the labels that are not known, each once; missing ones are none.

        Parameters
        ----------
        labels
            Labels, maybe missing ones. TypeError if one is not hashable.

        """
        return set(labels).difference(self._codes, (None,))

    def codes(self, labels: Iterable[Hashable]) -> NDArray[np.int64]:
        """Return the labels' codes, -1 for those not known.

        Parameters
        ----------
        labels
            Labels, none of them missing.

        """
        return np.array([self.code(label) for label in labels], dtype=np.int64)


class Coded(Sequence[Any]):
    """Labels by their codes, each looked up when it is asked for; None for a code of -1.

    Parameters
    ----------
    known
        The labels in the order of their codes.
    codes
        One a label.

    Examples
    --------
    >>> list(Coded(("spam", "ham"), np.array([1, -1, 0])))
    ['ham', None, 'spam']

    """

    __slots__ = ("_named", "codes", "known")

    def __init__(self, known: tuple[Any, ...], codes: NDArray[np.int64]) -> None:
        self.known, self.codes = known, codes
        self._named = (*known, None)  # which -1 finds

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        return map(self._named.__getitem__, self.codes.tolist())

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Coded: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Coded(self.known, self.codes[index])
        return self._named[self.codes[index]]


def _plain(label: Hashable) -> Hashable:
    """Return the Python value that equals a numpy scalar."""
    if isinstance(label, np.bool_ | np.number | np.character):
        plain: Hashable = label.item()
        # A few have none that equals them (a duration in nanoseconds becomes a bare int).
        if plain == label and hash(plain) == hash(label):
            return plain
    return label


def label_array(labels: Sequence[Any], dtype: type[object] | None = None) -> NDArray[Any]:
    """Return labels as a 1-D array: of their own kind if numpy can keep them as they are.

    Parameters
    ----------
    labels
        The labels.
    dtype
        ``object``, to keep them as they are in any case.

    Examples
    --------
    >>> label_array([1, 2]), label_array([1, "a"])
    (array([1, 2]), array([1, 'a'], dtype=object))

    """
    kinds = {type(label) for label in labels}
    if dtype is None and len(kinds) == 1 and kinds <= {bool, int, float, str}:
        # A string that ends in NUL, or a huge integer, does not come back as it was.
        array = np.array(labels)
        if array.tolist() == list(labels) and type(array[0].item()) in kinds:
            return array
    array = np.empty(len(labels), dtype=object)  # numpy would make one kind, or a matrix, of them
    for i, label in enumerate(labels):
        array[i] = label
    return array


def as_labels(y: Any, n: int) -> list[Any]:
    """Return a batch's labels as a list.

    Parameters
    ----------
    y
        A pandas, polars or pyarrow series, a 1-D numpy array, or a list.
    n
        How many labels there must be.

    Raises
    ------
    ValueError
        If there are more or fewer than n labels, or one of them is missing.
    TypeError
        If `y` is not a sequence of labels.

    Examples
    --------
    >>> as_labels(np.array([True, False]), 2)
    [True, False]

    """
    labels = _listed(y)
    if len(labels) != n:
        raise ValueError(f"{len(labels)} labels for {n} rows: give one label a row")
    for row, label in enumerate(labels):
        if type(label) not in _NEVER_MISSING and is_missing(label):
            raise ValueError(
                f"the label of row {row} is missing ({show(label)}; the first row is 0): drop "
                "the row, or predict it without learning from it"
            )
    return labels


def _listed(y: Any) -> list[Any]:
    if isinstance(y, np.ndarray):
        if y.ndim != 1:
            raise ValueError(
                f"labels must be 1-D, got an array of shape {y.shape}: y.ravel() flattens it"
            )
        return list(y) if y.dtype.kind in "mMV" else list(y.tolist())
    if hasattr(y, "to_pylist") and not hasattr(y, "column_names"):  # pyarrow's arrays
        return list(y.to_pylist())
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return list(series.to_list())
    frame = isinstance(nw.from_native(y, pass_through=True), nw.DataFrame | nw.LazyFrame)
    if frame or isinstance(y, str | bytes | Mapping | Set) or not isinstance(y, Sized):
        raise TypeError(
            "labels are a pandas, polars or pyarrow series, a 1-D numpy array or a list; got "
            f"{show(y)} ({type(y).__name__})"
        )
    return list(y)  # type: ignore[call-overload, no-any-return]
