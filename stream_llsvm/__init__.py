"""Learning from live streams with local support vector machines."""

from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.keeping import EngineError
from stream_llsvm.explain import Anchor, Explanation, MemberReport, Voter
from stream_llsvm.feature_maps.fourier import FourierFeatures
from stream_llsvm.feature_maps.homogeneous import HomogeneousKernelMap
from stream_llsvm.feature_maps.nystroem import OnlineNystroem
from stream_llsvm.learners.additive import AdditiveSVMClassifier
from stream_llsvm.learners.clustered import CSVMClassifier
from stream_llsvm.learners.committee import CommitteeClassifier
from stream_llsvm.learners.ferns import FernsClassifier
from stream_llsvm.learners.lcc import LCCClassifier
from stream_llsvm.learners.llsvm import LLSVMClassifier
from stream_llsvm.learners.local_svm import LocalSVMClassifier
from stream_llsvm.learners.memory import MemoryClassifier
from stream_llsvm.learners.pegasos import PegasosClassifier, PegasosRegressor
from stream_llsvm.learners.sapl import SAPLClassifier
from stream_llsvm.learners.saving import load_model
from stream_llsvm.model_file import ModelFileError

__all__ = [
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
