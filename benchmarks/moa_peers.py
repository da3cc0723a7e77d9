"""MOA's learners through CapyMOA, which is optional: it needs Java 17 and is not a dependency.

Without PyTorch and beside this project's newer pandas it runs from a folder of its own:
`pip install --no-deps --target FOLDER capymoa jpype1 deprecated wrapt seaborn tqdm`, and FOLDER in
PYTHONPATH.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scores import Pass
from streams import Stream


class Learner(NamedTuple):
    """What a table calls it, its class in CapyMOA, and what differs from its defaults."""

    title: str
    kind: str
    options: dict[str, Any]


LEARNERS = {
    "sgbt": Learner("SGBT", "StreamingGradientBoostedTrees", {}),
    "arf30": Learner("ARF(30)", "AdaptiveRandomForestClassifier", {"ensemble_size": 30}),
    "arf100": Learner("ARF(100)", "AdaptiveRandomForestClassifier", {"ensemble_size": 100}),
    "srp30": Learner("SRP(30)", "StreamingRandomPatches", {"ensemble_size": 30}),
    "levbag30": Learner("LevBag(30)", "LeveragingBagging", {"ensemble_size": 30}),
    "samknn": Learner("SAMkNN", "SAMkNN", {}),
    "plastic": Learner("PLASTIC", "PLASTIC", {}),
    "ht": Learner("HT", "HoeffdingTree", {}),
}


def require() -> None:
    """Stop and say what to do where CapyMOA cannot be used."""
    try:
        import capymoa.classifier  # noqa: F401
    # Without Java the import ends in errors of its own.
    except Exception as error:
        raise SystemExit(f"MOA's learners need CapyMOA and Java 17: {error}\n{__doc__}") from None


def instances(stream: Stream) -> tuple[Any, list[Any]]:
    """Return CapyMOA's schema of a stream of numbers, and its instances."""
    from capymoa.stream import NumpyStream

    _, codes = np.unique(stream.y, return_inverse=True)
    source = NumpyStream(stream.X.astype(np.float64), codes, dataset_name=stream.name)
    return source.get_schema(), [source.next_instance() for _ in range(len(codes))]


def run(name: str, schema: Any, found: Sequence[Any]) -> Pass:
    """Predict each instance and then learn it, one by one from Python, as its users do."""
    import capymoa.classifier

    learner = LEARNERS[name]
    model = getattr(capymoa.classifier, learner.kind)(schema, **learner.options)
    answers = []
    begin = process_time()
    for instance in found:
        answers.append(model.predict(instance))
        model.train(instance)
    seconds = process_time() - begin
    # Before it has learned anything a learner may say nothing: that is a miss.
    labels = [instance.y_index for instance in found]
    hits = [answer == label for answer, label in zip(answers, labels, strict=True)]
    done = Pass(np.array(hits, dtype=np.bool_), seconds)
    print(f"{learner.title}  {done.accuracy():.2f}  {done.micros():,.1f} us", file=sys.stderr)
    return done
