"""Every transformer of river's as plain data: to the bit, and in another process the same."""

from __future__ import annotations

import datetime as dt
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import river.api
from river import base, compose, feature_extraction, feature_selection, preprocessing, stats, utils

from stream_llsvm import FourierFeatures, HomogeneousKernelMap, OnlineNystroem
from stream_llsvm.model.packing import pack, unpack
from stream_llsvm.transformers.classes import KINDS, STATISTICS
from stream_llsvm.transformers.natives import UnfitError
from stream_llsvm.transformers.plain import CHAINS, Writer
from stream_llsvm.transformers.restored import Reader

Make = Callable[[], Any]
#: Transformers of river's that no file holds, and why; docs/pipelines.md says the same.
NOT_HELD = {
    "RandomTreesEmbedding": "its leaves are known by where they lie in memory",
}


def clean(x: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in x.items() if isinstance(value, float)}


def mixed(n: int, seed: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    rng = np.random.default_rng(seed)
    for _ in range(n):
        a, b, c = rng.normal(size=3).round(2).tolist()
        country = ["DE", "FR", "IT", "ES"][rng.integers(4)]
        text = " ".join(rng.choice(["one", "two", "three", "four", "five", "six"], size=3))
        missing = rng.random() < 0.2
        yield {"a": a, "b": None if missing else b, "c": c, "n": country, "text": text}, int(a > 0)


NUMBERS: dict[str, Make] = {
    "StandardScaler": preprocessing.StandardScaler,
    "StandardScaler, window": lambda: preprocessing.StandardScaler(window_size=7),
    "StandardScaler, no std": lambda: preprocessing.StandardScaler(with_std=False),
    "MinMaxScaler": preprocessing.MinMaxScaler,
    "MinMaxScaler, window": lambda: preprocessing.MinMaxScaler(window_size=7),
    "MaxAbsScaler": preprocessing.MaxAbsScaler,
    "MaxAbsScaler, window": lambda: preprocessing.MaxAbsScaler(window_size=7),
    "RobustScaler": preprocessing.RobustScaler,
    "Normalizer": preprocessing.Normalizer,
    "AdaptiveStandardScaler": preprocessing.AdaptiveStandardScaler,
    "Binarizer": lambda: preprocessing.Binarizer(0.5, dtype=int),
    "GaussianRandomProjector": lambda: preprocessing.GaussianRandomProjector(3),
    "SparseRandomProjector": lambda: preprocessing.SparseRandomProjector(5, density=0.5),
    "PolynomialExtender": feature_extraction.PolynomialExtender,
    "RBFSampler": lambda: feature_extraction.RBFSampler(n_components=6),
    "PoissonInclusion": lambda: feature_selection.PoissonInclusion(0.1),
    "VarianceThreshold": lambda: feature_selection.VarianceThreshold(0.5),
    "SelectKBest": lambda: feature_selection.SelectKBest(stats.PearsonCorr(), k=1),
    "SelectKBest, bins": lambda: feature_selection.SelectKBest(stats.ChiSquared(), k=1),
    "FourierFeatures": lambda: FourierFeatures(8, seed=3),
    "HomogeneousKernelMap": lambda: HomogeneousKernelMap("chi2", order=1),
    "OnlineNystroem": lambda: OnlineNystroem(10, settled=90),
    "LDA": lambda: preprocessing.LDA(n_components=2, seed=1),
}
ANYTHING: dict[str, Make] = {
    "Select": lambda: compose.Select("n", "a", "c"),
    "Discard": lambda: compose.Discard("n", "b"),
    "SelectType": lambda: compose.SelectType(float),
    "Prefixer": lambda: compose.Prefixer("p_"),
    "Suffixer": lambda: compose.Suffixer("_s"),
    "Renamer": lambda: compose.Renamer({"a": "A"}),
    "FuncTransformer": lambda: compose.FuncTransformer(clean),
    "Grouper": lambda: compose.Grouper(preprocessing.OrdinalEncoder(), by=["n"]),
    "Pipeline": lambda: compose.Select("a", "c") | preprocessing.StandardScaler(),
    "TransformerUnion": lambda: compose.TransformerUnion(
        compose.Select("c"), compose.Select("a", "c") | preprocessing.MinMaxScaler()
    ),
    "TransformerProduct": lambda: compose.Select("a") * compose.Select("c"),
    "OneHotEncoder": preprocessing.OneHotEncoder,
    "OneHotEncoder, given": lambda: preprocessing.OneHotEncoder(
        categories={one: {"DE", "FR", 0.5} for one in ("a", "b", "c", "n", "text")}
    ),
    "OrdinalEncoder": preprocessing.OrdinalEncoder,
    "OnlineNystroem, names": lambda: compose.Select("a", "n") | OnlineNystroem(9, settled=90),
    "FeatureHasher": lambda: compose.Discard("b") | preprocessing.FeatureHasher(16),
    "PreviousImputer": preprocessing.PreviousImputer,
    "StatImputer": lambda: preprocessing.StatImputer(("b", stats.Mean()), ("n", "none")),
    "BagOfWords": lambda: feature_extraction.BagOfWords(on="text", ngram_range=(1, 2)),
    "TFIDF": lambda: feature_extraction.TFIDF(on="text", stop_words={"one"}),
    "GapEncoder": lambda: preprocessing.GapEncoder(2, on="n"),
    "TargetAgg": lambda: feature_extraction.TargetAgg("n", stats.BayesianMean(0.5, 10)),
}  # fmt: skip
HOW: dict[str, Make] = {
    name: getattr(stats, name)
    for name in STATISTICS
    if issubclass(getattr(stats, name), stats.base.Univariate)
    and not [
        one
        for one in inspect.signature(getattr(stats, name)).parameters.values()
        if one.default is one.empty
    ]
} | {
    "AutoCorr": lambda: stats.AutoCorr(2),
    "BayesianMean": lambda: stats.BayesianMean(0.5, 3),
    "Link": lambda: stats.Shift(2) | stats.Max(),
    "RollingAbsMax": lambda: stats.RollingAbsMax(5),
    "RollingIQR": lambda: stats.RollingIQR(5),
    "RollingMax": lambda: stats.RollingMax(5),
    "RollingMin": lambda: stats.RollingMin(5),
    "RollingMode": lambda: stats.RollingMode(5),
    "RollingPeakToPeak": lambda: stats.RollingPeakToPeak(5),
    "RollingQuantile": lambda: stats.RollingQuantile(0.3, 5),
    "Rolling mean": lambda: utils.Rolling(stats.Mean, window_size=4),
    "Rolling variance": lambda: utils.Rolling(stats.Var, window_size=4, ddof=0),
}  # fmt: skip


def learn(transformer: Any, x: dict[str, Any], y: int) -> Any:
    """Let it learn as river's pipelines do, and return what it makes of a record."""
    if transformer._supervised:
        transformer.learn_one(dict(x), y)
    else:
        transformer.learn_one(dict(x))
    return transformer.transform_one(dict(x))


def through_a_file(transformer: Any) -> Any:
    plain = unpack(memoryview(pack({"it": Writer().plain(transformer)})))["it"]
    return Reader(functions=[clean]).made(plain)


def goes_on_to_the_bit(make: Make, only_numbers: bool) -> None:
    records = [
        ({name: v for name, v in x.items() if type(v) is float} if only_numbers else x, y)
        for x, y in mixed(120)
    ]
    own = make()
    for x, y in records[:60]:
        learn(own, x, y)
    read = through_a_file(own)
    assert pack({"it": Writer().plain(read)}) == pack({"it": Writer().plain(own)})
    for x, y in records[60:]:
        mine, other = learn(own, x, y), learn(read, x, y)
        assert list(mine.items()) == list(other.items())
    assert pack({"it": Writer().plain(read)}) == pack({"it": Writer().plain(own)})


@pytest.mark.parametrize("name", NUMBERS)
def test_a_transformer_of_numbers_goes_on_to_the_bit(name: str) -> None:
    goes_on_to_the_bit(NUMBERS[name], only_numbers=True)


@pytest.mark.parametrize("name", ANYTHING)
def test_a_transformer_of_anything_goes_on_to_the_bit(name: str) -> None:
    goes_on_to_the_bit(ANYTHING[name], only_numbers=False)


@pytest.mark.parametrize("name", HOW)
def test_an_aggregate_goes_on_to_the_bit(name: str) -> None:
    goes_on_to_the_bit(
        lambda: feature_extraction.Agg("a", by=["n"], how=HOW[name]()), only_numbers=False
    )


def transformers_of_river() -> set[str]:
    found = set()
    for room in vars(river.api).values():
        for name in getattr(room, "__all__", ()):
            kind = getattr(room, name, None)
            own = inspect.isclass(kind) and issubclass(kind, base.BaseTransformer)
            if own and kind.__module__.split(".")[1] != "base":
                found.add(name)
    return found


def test_each_of_rivers_transformers_is_held_or_said_not_to_be() -> None:
    found = transformers_of_river()
    assert len(found) > 35
    assert found == (set(KINDS) | set(CHAINS) | set(NOT_HELD)) & found
    tried = {name.split(",")[0] for name in (*NUMBERS, *ANYTHING)} | {"Agg"}
    assert found - set(NOT_HELD) <= tried
    assert set(STATISTICS) - {"EWCov", "Cov", "PearsonCorr", "ChiSquared"} <= set(HOW)


@pytest.mark.parametrize("name", NOT_HELD)
def test_what_is_not_held_is_refused_in_words(name: str) -> None:
    own = getattr(feature_extraction, name)()
    with pytest.raises(UnfitError, match=f"{name} is not among the classes"):
        Writer().plain(own)


@pytest.mark.parametrize(
    "value", [dt.datetime(2024, 2, 3, 4, 5), dt.date(2024, 2, 3), Decimal("1.50"), np.float32(0.1)]
)
def test_values_of_records_keep_their_kind(value: Any) -> None:
    own = preprocessing.PreviousImputer()
    own.learn_one({"when": value})
    read = through_a_file(own)
    assert type(read._latest["when"]) is type(value)
    assert read._latest == own._latest


def test_a_class_of_the_same_name_is_not_the_same() -> None:
    class StandardScaler(base.Transformer):
        def transform_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
            return x

    with pytest.raises(UnfitError, match="not among the classes"):
        Writer().plain(StandardScaler())


def test_two_functions_of_one_name_are_refused() -> None:
    both = compose.FuncTransformer(lambda x: x) | compose.FuncTransformer(lambda x: {})
    with pytest.raises(UnfitError, match="a name of its own"):
        Writer().plain(both)


SHOW = """
import sys
from river import compose, feature_extraction, preprocessing
from stream_llsvm.transformers.plain import Writer
from stream_llsvm.transformers.restored import Reader
from stream_llsvm.model.packing import pack, unpack
if sys.argv[1] == "write":
    own = compose.Select(*[f"name {i}" for i in range(50)])
    print(*own.transform_one({f"name {i}": i for i in range(50)}).values())
    words = feature_extraction.TFIDF(on="t")
    words.learn_one({"t": " ".join(f"word{i}" for i in range(50))})
    code = preprocessing.OneHotEncoder()
    code.learn_one({"a": "x", "b": "y"})
    print(pack({"it": Writer().plain(own)}).hex())
    print(pack({"it": Writer().plain(words), "this": Writer().plain(code)}).hex())
else:
    own = Reader().made(unpack(memoryview(bytes.fromhex(sys.argv[2])))["it"])
    print(*own.transform_one({f"name {i}": i for i in range(50)}).values())
"""


def test_another_process_has_the_same_order() -> None:
    """Sets have another order in each process: what comes out, and the file, must not."""

    def shown(seed: int, *args: str) -> list[str]:
        command = [sys.executable, "-c", SHOW, *args]
        environment = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)}
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return run.stdout.splitlines()

    order, select, rest = shown(1, "write")
    assert shown(2, "read", select) == [order]
    other, _, same = shown(2, "write")
    assert other != order  # or this test would show nothing
    assert same == rest
