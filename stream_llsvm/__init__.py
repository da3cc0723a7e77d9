"""Learning from live streams with local support vector machines.

What is named here is imported when it is first used: numba and all that is compiled with it take
half a second, which ``stream-llsvm --help`` need not wait for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stream_llsvm.learners.registry import LEARNERS as _LEARNERS
from stream_llsvm.version import __version__ as __version__

if TYPE_CHECKING:
    from stream_llsvm.engine.engine import Engine
    from stream_llsvm.engine.resume import EngineError
    from stream_llsvm.feature_maps.fourier import FourierFeatures
    from stream_llsvm.feature_maps.homogeneous import HomogeneousKernelMap
    from stream_llsvm.feature_maps.nystroem import OnlineNystroem
    from stream_llsvm.learners.additive import AdditiveSVMClassifier
    from stream_llsvm.learners.boosted_trees import BoostedTreesClassifier
    from stream_llsvm.learners.budgeted import BudgetedPegasosClassifier
    from stream_llsvm.learners.clustered import CSVMClassifier
    from stream_llsvm.learners.committee import CommitteeClassifier
    from stream_llsvm.learners.contexts import ContextsClassifier
    from stream_llsvm.learners.decision import Decision
    from stream_llsvm.learners.decision_classifier import DecidingClassifier
    from stream_llsvm.learners.ferns import FernsClassifier
    from stream_llsvm.learners.keyed import KeyedClassifier
    from stream_llsvm.learners.keyed_reasons import KeyedExplanation
    from stream_llsvm.learners.l3_svm import L3SVMClassifier
    from stream_llsvm.learners.lcc import LCCClassifier
    from stream_llsvm.learners.llsvm import LLSVMClassifier
    from stream_llsvm.learners.llsvm_regressor import LLSVMRegressor
    from stream_llsvm.learners.load import load_model
    from stream_llsvm.learners.local_svm import LocalSVMClassifier
    from stream_llsvm.learners.neighbours import MemoryClassifier
    from stream_llsvm.learners.pegasos import PegasosClassifier
    from stream_llsvm.learners.pegasos_regressor import PegasosRegressor
    from stream_llsvm.learners.pipeline import save_model
    from stream_llsvm.learners.sapl import SAPLClassifier
    from stream_llsvm.model.explain import Anchor, Context, Explanation, MemberReport, Voter
    from stream_llsvm.model.feature_warnings import FeaturesLeftOutWarning, UnknownFeatureWarning
    from stream_llsvm.model.file import ModelFileError

__all__ = [
    "AdditiveSVMClassifier",
    "Anchor",
    "BoostedTreesClassifier",
    "BudgetedPegasosClassifier",
    "CSVMClassifier",
    "CommitteeClassifier",
    "Context",
    "ContextsClassifier",
    "DecidingClassifier",
    "Decision",
    "Engine",
    "EngineError",
    "Explanation",
    "FeaturesLeftOutWarning",
    "FernsClassifier",
    "FourierFeatures",
    "HomogeneousKernelMap",
    "KeyedClassifier",
    "KeyedExplanation",
    "L3SVMClassifier",
    "LCCClassifier",
    "LLSVMClassifier",
    "LLSVMRegressor",
    "LocalSVMClassifier",
    "MemberReport",
    "MemoryClassifier",
    "ModelFileError",
    "OnlineNystroem",
    "PegasosClassifier",
    "PegasosRegressor",
    "SAPLClassifier",
    "UnknownFeatureWarning",
    "Voter",
    "load_model",
    "save_model",
]

# In which module each is; `tests/test_public_names.py` holds what is written above to it.
_WHERE = {name: f"learners.{module}" for name, module in _LEARNERS.items()} | {
    "Anchor": "model.explain",
    "Context": "model.explain",
    "DecidingClassifier": "learners.decision_classifier",
    "Decision": "learners.decision",
    "Engine": "engine.engine",
    "EngineError": "engine.resume",
    "Explanation": "model.explain",
    "FeaturesLeftOutWarning": "model.feature_warnings",
    "FourierFeatures": "feature_maps.fourier",
    "HomogeneousKernelMap": "feature_maps.homogeneous",
    "KeyedClassifier": "learners.keyed",
    "KeyedExplanation": "learners.keyed_reasons",
    "MemberReport": "model.explain",
    "ModelFileError": "model.file",
    "OnlineNystroem": "feature_maps.nystroem",
    "UnknownFeatureWarning": "model.feature_warnings",
    "Voter": "model.explain",
    "load_model": "learners.load",
    "save_model": "learners.pipeline",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        gone = import_module(f"{__name__}.removed").removed(name)
        raise AttributeError(gone or f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value  # the next time it is found at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
