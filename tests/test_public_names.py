"""What the package shows is what it says it shows, and all of it explains itself."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import types
from importlib import metadata

import pytest

import stream_llsvm
from stream_llsvm.learners.registry import LEARNERS

NAMES = sorted(
    [
        *LEARNERS,
        "Anchor",
        "Context",
        "DecidingClassifier",
        "Decision",
        "Engine",
        "EngineError",
        "Explanation",
        "FeaturesLeftOutWarning",
        "FourierFeatures",
        "HomogeneousKernelMap",
        "KeyedClassifier",
        "KeyedExplanation",
        "MemberReport",
        "ModelFileError",
        "OnlineNystroem",
        "UnknownFeatureWarning",
        "Voter",
        "load_model",
        "save_model",
    ]
)


def test_the_names() -> None:
    assert stream_llsvm.__all__ == NAMES


def test_nothing_else_is_shown() -> None:
    shown = {
        name
        for name in dir(stream_llsvm)
        if not name.startswith("_")
        and not isinstance(getattr(stream_llsvm, name), types.ModuleType)
        and name not in ("Any", "TYPE_CHECKING", "import_module")  # what it is made with
    }
    assert shown == set(NAMES)
    with pytest.raises(AttributeError, match="has no attribute 'Classifier'"):
        stream_llsvm.Classifier  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name"):
        exec("from stream_llsvm import Classifier")


def test_the_version_is_that_of_the_distribution() -> None:
    assert stream_llsvm.__version__ == metadata.version("stream_llsvm")


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import sys, stream_llsvm; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "numba", "river", "msgpack", "orjson", "narwhals"}


def test_what_type_checkers_see_is_what_is_there() -> None:
    tree = ast.parse(inspect.getsource(stream_llsvm))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("stream_llsvm.")
        for alias in node.names
        if alias.name not in ("__version__", "LEARNERS")  # what the table is made with
    }
    assert seen == {name: f"stream_llsvm.{where}" for name, where in stream_llsvm._WHERE.items()}
    assert sorted(seen, key=str.casefold) == sorted(NAMES, key=str.casefold)


def test_each_is_documented_and_says_where_it_lives() -> None:
    for name in NAMES:
        thing = getattr(stream_llsvm, name)
        assert thing.__name__ == name
        assert thing.__module__.startswith("stream_llsvm.")
        assert inspect.getdoc(thing)


def test_methods_of_the_learners_are_documented() -> None:
    for name in (name for name in NAMES if name.endswith("Classifier")):
        kind = getattr(stream_llsvm, name)
        for method, value in inspect.getmembers(kind):
            if not method.startswith("_") and value.__class__ is not type:
                assert inspect.getdoc(value), f"{name}.{method}"
