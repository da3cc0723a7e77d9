"""A kernel as its values at landmarks, which a reservoir keeps from the stream."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_llsvm.feature_maps.base import Made, as_numbers
from stream_llsvm.locks import OneAtATime, locked
from stream_llsvm.options import number, whole
from stream_llsvm.records.features import FeatureSpace

Array = NDArray[np.float64]

_SMALLEST = 1e-8
#: From here on a distance is infinite for any purpose, and its square must not be.
_FARTHEST = 1e100


class OnlineNystroem(OneAtATime, base.Transformer):
    """The RBF kernel exp(-gamma |x - y|^2) through landmarks that are a sample of the stream.

    A record's features are K^(-1/2) k(x): their inner products are the kernel exactly at the
    landmarks, and nearly elsewhere. A reservoir keeps each record seen so far with the same chance.
    A new landmark changes the features, which a machine behind them has to learn anew: so they
    settle after some records.

    Parameters
    ----------
    n_landmarks
        How many landmarks there are, and features.
    gamma
        The kernel's sharpness.
    settled
        After so many records the landmarks stay as they are.
    seed
        For the reservoir.

    References
    ----------
    [^1]: Williams, Seeger. Using the Nystroem Method to Speed Up Kernel Machines. NIPS 2000.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from stream_llsvm import PegasosClassifier
    >>> from stream_llsvm.feature_maps.nystroem import OnlineNystroem
    >>> rbf = OnlineNystroem(n_landmarks=50, settled=500)
    >>> model = preprocessing.StandardScaler() | rbf | PegasosClassifier(standardize=False, l2=1e-4)
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self, n_landmarks: int = 100, gamma: float = 1.0, settled: int = 2_000, seed: int = 0
    ) -> None:
        self.n_landmarks = whole("n_landmarks", n_landmarks, 1, 10_000)
        self.gamma = number("gamma", gamma, 1e-12, 1e12)
        self.settled = whole("settled", settled, 0, 10**15)
        self.seed = whole("seed", seed, 0, 2**32 - 1)
        self._rng = np.random.default_rng(seed)
        self._lock = self._make_lock()
        self._features = FeatureSpace()
        self._landmarks = np.zeros((0, 0))
        self._root: Array | None = None
        self._seen = 0

    @locked
    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Maybe keep the record as a landmark.

        Parameters
        ----------
        x
            The record. What is missing counts as 0.

        """
        self._dense(x)
        if self._seen >= self.settled:
            return
        self._seen += 1
        place = self._seen - 1
        if place >= self.n_landmarks:
            place = int(self._rng.integers(self._seen))
            if place >= self.n_landmarks:
                return
        self._features.add(x)
        row = self._dense(x)
        rows = max(len(self._landmarks), place + 1)
        grown = np.zeros((rows, len(row)))
        grown[: len(self._landmarks), : self._landmarks.shape[1]] = self._landmarks
        grown[place] = row
        self._landmarks, self._root = grown, None

    @locked
    def transform_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the features of a record, named 0, 1, ...; none before there is a landmark.

        Parameters
        ----------
        x
            The record.

        """
        row = self._dense(x)
        if len(self._landmarks) == 0:
            return {}
        if self._root is None:
            self._root = self._inverse_root()
        rest = self._landmarks - row
        values = np.exp(-self.gamma * (rest * rest).sum(axis=1) - self.gamma * self._beyond)
        return dict(enumerate((self._root @ values).tolist()))

    def made_of(self, names: Iterable[Hashable]) -> list[Made]:
        """Return what it makes of any record: one feature a landmark, each of all features.

        Parameters
        ----------
        names
            The features.

        """
        if len(self._landmarks) == 0:
            raise ValueError(
                "this OnlineNystroem has no landmarks yet, and a classifier takes a map as it is: "
                "let it learn some records first"
            )
        return [(None, j) for j in range(len(self._landmarks))]

    def map_one(self, x: Mapping[Any, float]) -> list[float]:
        """Return K^(-1/2) k(x), in the order of `made_of`.

        Parameters
        ----------
        x
            The record.

        """
        return list(self.transform_one(x).values())

    def _dense(self, x: Mapping[Any, Any]) -> Array:
        """Return the values of the known features; notes how far away the rest of them puts x."""
        row = self._features.encode(x)
        dense = np.zeros(len(self._features))
        if row.starts.size > 0:
            dense[row.columns] = row.values
        else:
            dense[:] = row.values.reshape(-1)
        dense[~np.isfinite(dense)] = 0
        np.clip(dense, -_FARTHEST, _FARTHEST, out=dense)
        strangers = self._features.unknown(x) if self._features.ignored else []
        numbers = as_numbers(x) if strangers else {}
        values = [numbers.get(name, 0.0) for name in strangers]
        known = np.clip(np.nan_to_num(np.array(values)), -_FARTHEST, _FARTHEST)
        self._beyond = float(known @ known)
        return dense

    def _inverse_root(self) -> Array:
        squares = (self._landmarks**2).sum(axis=1)
        distance = squares[:, None] + squares - 2 * self._landmarks @ self._landmarks.T
        values, vectors = np.linalg.eigh(np.exp(-self.gamma * np.maximum(distance, 0)))
        kept = values > _SMALLEST
        scaled = vectors[:, kept] / np.sqrt(values[kept])
        root: Array = scaled @ vectors[:, kept].T
        return root
