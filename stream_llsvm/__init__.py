"""Learning from live streams with local support vector machines."""

from stream_llsvm.explain import Anchor, Explanation
from stream_llsvm.learners.lcc import LCCClassifier
from stream_llsvm.learners.llsvm import LLSVMClassifier
from stream_llsvm.learners.sapl import SAPLClassifier
from stream_llsvm.learners.saving import load_model
from stream_llsvm.model_file import ModelFileError

__all__ = [
    "Anchor",
    "Explanation",
    "LCCClassifier",
    "LLSVMClassifier",
    "ModelFileError",
    "SAPLClassifier",
    "load_model",
]
