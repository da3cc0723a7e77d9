"""The engine: records in, predictions out, every record learned exactly once.

Examples
--------
>>> from stream_llsvm.engine import Checkpoints, Engine

"""

from stream_llsvm.engine.checkpoints import CheckpointError, Checkpoints
from stream_llsvm.engine.engine import Engine
from stream_llsvm.engine.late_labels import Waiting
from stream_llsvm.engine.resume import EngineError
from stream_llsvm.engine.watchers import Watcher

__all__ = ["CheckpointError", "Checkpoints", "Engine", "EngineError", "Waiting", "Watcher"]
