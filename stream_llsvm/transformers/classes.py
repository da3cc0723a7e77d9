"""Which classes a file may hold: all whose state is plain data, each with its own name.

What a file names is looked up here and never imported. A class that is not listed, or a function,
has no form that would be safe to read.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

_OURS = "stream_llsvm.feature_maps"


class Kind(NamedTuple):
    """What is special about a class.

    Attributes
    ----------
    module
        Where it is.
    derived
        What its constructor makes of the options, and nothing changes afterwards.
    later
        Attributes that only appear as it learns.
    unordered
        Counts whose order says nothing and differs from process to process.
    ordered
        Options that are sets, whose order is that of what comes out.

    """

    module: str
    derived: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()


_PREPROCESSING, _EXTRACTION = "river.preprocessing", "river.feature_extraction"
_SELECTION, _COMPOSE, _UTILS = "river.feature_selection", "river.compose", "river.utils"
_STEPS = ("processing_steps",)

KINDS: dict[str, Kind] = {
    "Discard": Kind(_COMPOSE),
    "FuncTransformer": Kind(_COMPOSE),
    "Grouper": Kind(_COMPOSE),
    "Prefixer": Kind(_COMPOSE),
    "Renamer": Kind(_COMPOSE),
    "Select": Kind(_COMPOSE, ordered=("keys",)),
    "SelectType": Kind(_COMPOSE),
    "Suffixer": Kind(_COMPOSE),
    "Agg": Kind(_EXTRACTION, derived=("_feature_name",)),
    "BagOfWords": Kind(_EXTRACTION, derived=_STEPS),
    "PolynomialExtender": Kind(_EXTRACTION),
    "RBFSampler": Kind(_EXTRACTION),
    "TargetAgg": Kind(_EXTRACTION, derived=("_feature_name",)),
    "TFIDF": Kind(_EXTRACTION, derived=_STEPS, unordered=("dfs",)),
    "PoissonInclusion": Kind(_SELECTION),
    "SelectKBest": Kind(_SELECTION),
    "VarianceThreshold": Kind(_SELECTION),
    "AdaptiveStandardScaler": Kind(_PREPROCESSING),
    "Binarizer": Kind(_PREPROCESSING),
    "FeatureHasher": Kind(_PREPROCESSING),
    "GapEncoder": Kind(_PREPROCESSING, derived=("decay",)),
    "GaussianRandomProjector": Kind(_PREPROCESSING),
    "LDA": Kind(_PREPROCESSING, later=("epsilon",)),
    "MaxAbsScaler": Kind(_PREPROCESSING),
    "MinMaxScaler": Kind(_PREPROCESSING),
    "Normalizer": Kind(_PREPROCESSING),
    "OneHotEncoder": Kind(_PREPROCESSING),
    "OrdinalEncoder": Kind(_PREPROCESSING, derived=("_reserved_category_codes",)),
    "PreviousImputer": Kind(_PREPROCESSING),
    "RobustScaler": Kind(_PREPROCESSING),
    "SparseRandomProjector": Kind(_PREPROCESSING),
    "StandardScaler": Kind(_PREPROCESSING),
    # Its statistics are those of its options, which learn.
    "StatImputer": Kind(_PREPROCESSING, derived=("stats",)),
    "FourierFeatures": Kind(f"{_OURS}.fourier", derived=("_phases", "_kept")),
    "HomogeneousKernelMap": Kind(
        f"{_OURS}.homogeneous", derived=("_step", "_waves", "_level", "_heights")
    ),
    "OnlineNystroem": Kind(f"{_OURS}.nystroem", derived=("_lock",), later=("_beyond",)),
    "SortedWindow": Kind(_UTILS),
}
STATISTICS = tuple(
    """
    AbsMax AutoCorr BayesianMean ChiSquared Count Cov EWCov EWMean EWVar Entropy IQR Kurtosis
    Link MAD Max Mean Min Mode PeakToPeak PearsonCorr Quantile RollingAbsMax RollingIQR RollingMax
    RollingMin RollingMode RollingPeakToPeak RollingQuantile SEM Shift Skew Sum Var
    """.split()  # noqa: SIM905  a line each would be longer than all the rest
)
KINDS |= {name: Kind("river.stats") for name in STATISTICS}


def named(name: str) -> type[Any]:
    """Return the class of that name; raises KeyError for every name that is not listed."""
    kind: type[Any] = getattr(import_module(KINDS[name].module), name)
    return kind


def is_listed(kind: type[Any]) -> bool:
    """Whether this very class is listed, and not only one of the same name."""
    return kind.__name__ in KINDS and named(kind.__name__) is kind


def options_of(kind: type[Any]) -> tuple[tuple[str, ...], str | None]:
    """Return the names of a constructor's options, and the name of the one that takes many."""
    found: tuple[tuple[str, ...], str | None] = _options_of(kind)  # type: ignore[arg-type]
    return found


@cache
def _options_of(kind: Any) -> tuple[tuple[str, ...], str | None]:
    given = inspect.signature(kind).parameters.values()
    many = [one.name for one in given if one.kind is one.VAR_POSITIONAL]
    names = tuple(one.name for one in given if one.name not in many)
    return names, many[0] if many else None


def kept(value: Any) -> Mapping[str, Any]:
    """Return what an object keeps besides its options, and what the constructor makes of them."""
    kind = type(value)
    names, many = options_of(kind)
    without = {*names, many, *KINDS[kind.__name__].derived}
    return {name: one for name, one in vars(value).items() if name not in without}
