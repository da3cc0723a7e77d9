"""Pegasos, the linear SVM by stochastic steps, as a classifier of its own."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.kernels.losses import LOSSES_OF_PEGASOS
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.family.pegasos.member import Pegasos
from stream_llsvm.options import choice, flag, number, whole


class PegasosClassifier(LocalClassifier):
    """Linear SVM by Pegasos: steps of 1 / (l2 t) down the regularised loss.

    Several classes are learned each against the rest. A step costs what the record names: weights
    are kept with a scale, so that shrinking and projecting them touches nothing else. For losses
    with a curvature a step is never longer than the record asks for.

    Parameters
    ----------
    l2
        The penalty on the weights: lambda.
    batch_size
        How many records make a step, the mean of their steps. What is held of a batch is part of
        the model: a saved one goes on in the middle.
    projection
        Whether weights are brought back to the ball that the best ones must lie in: of radius
        1 / sqrt(lambda) for the hinge.
    loss
        "hinge", "squared_hinge" (the plain square, whose push has no bound) or "logistic".
    t0
        Steps are 1 / (lambda (t + t0)): keeps the first ones short. Pegasos has 0.
    forgets
        Whether steps grow again while there are more errors than usual, so that what changes is
        learned anew, however long it was the same; in calm nothing is forgotten. If not, steps are
        the paper's, and after a change a model needs about as many records as it has seen.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the random order of `warm_start`.

    References
    ----------
    [^1]: Shalev-Shwartz, Singer, Srebro, Cotter. Pegasos: Primal Estimated sub-GrAdient SOlver for
        SVM. Mathematical Programming, 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import PegasosClassifier
    >>> model = PegasosClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        l2: float = 1e-2,
        batch_size: int = 1,
        projection: bool = True,
        loss: str = "hinge",
        t0: int = 0,
        forgets: bool = True,
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.l2 = number("l2", l2, 1e-12, 1e6)
        self.batch_size = whole("batch_size", batch_size, 1, 10**9)
        self.projection = flag("projection", projection)
        self.loss = choice("loss", loss, LOSSES_OF_PEGASOS)
        self.t0 = whole("t0", t0, 0, 10**12)
        self.forgets = flag("forgets", forgets)
        super().__init__(standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        return (
            Pegasos(
                l2=self.l2,
                batch_size=self.batch_size,
                projection=self.projection,
                loss=LOSSES_OF_PEGASOS[self.loss],
                t0=self.t0,
                forgets=self.forgets,
            ),
        )
