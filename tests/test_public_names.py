"""What the package shows is what it says it shows, and all of it explains itself."""

from __future__ import annotations

import inspect
import types

import stream_llsvm

NAMES = [
    "AdditiveSVMClassifier",
    "Anchor",
    "CSVMClassifier",
    "CommitteeClassifier",
    "Engine",
    "EngineError",
    "Explanation",
    "FernsClassifier",
    "FourierFeatures",
    "HomogeneousKernelMap",
    "LCCClassifier",
    "LLSVMClassifier",
    "LocalSVMClassifier",
    "MemberReport",
    "MemoryClassifier",
    "ModelFileError",
    "OnlineNystroem",
    "PegasosClassifier",
    "PegasosRegressor",
    "SAPLClassifier",
    "Voter",
    "load_model",
]


def test_the_names() -> None:
    assert stream_llsvm.__all__ == NAMES


def test_nothing_else_is_shown() -> None:
    shown = {
        name
        for name, value in vars(stream_llsvm).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert shown == set(NAMES)


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
