"""Pegasos for numbers: linear support vector regression."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.kernels.losses import LOSSES_OF_NUMBERS
from stream_llsvm.kernels.run_numbers import FARTHEST
from stream_llsvm.learners.numbers import NumberLearner
from stream_llsvm.members.base import Member
from stream_llsvm.members.family.pegasos.kernel import GREATEST
from stream_llsvm.members.family.pegasos.member import Pegasos
from stream_llsvm.members.regression.member import Numbers
from stream_llsvm.options import choice, flag, number, whole


class PegasosRegressor(NumberLearner):
    """Linear support vector regression by Pegasos.

    Parameters
    ----------
    l2
        The penalty on the weights: lambda.
    batch_size
        How many records make a step, the mean of their steps.
    projection
        Whether weights are brought back to the ball that the best ones must lie in: what a machine
        that knows nothing loses bounds them.
    loss
        "epsilon_insensitive", "squared_epsilon_insensitive", "squared" or "huber".
    epsilon
        What "epsilon_insensitive" forgives, and where "huber" turns linear; in standard deviations
        of the target if ``standardize``.
    t0
        Steps are 1 / (lambda (t + t0)): keeps the first ones short.
    forgets
        Whether steps grow again while errors are greater than usual, so that what changes is
        learned anew, however long it was the same; in calm nothing is forgotten. If not, steps are
        the paper's, and after a change a model needs about as many records as it has seen.
    standardize
        Whether features and the target are brought to mean 0 and variance 1, learned on the fly.
        An answer is then at most eight standard deviations from the target's mean, and a target
        further away counts as that far.
    max_mb
        How much memory the model may grow to take as features appear.

    References
    ----------
    [^1]: Shalev-Shwartz, Singer, Srebro, Cotter. Pegasos: Primal Estimated sub-GrAdient SOlver for
        SVM. Mathematical Programming, 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import PegasosRegressor
    >>> model = PegasosRegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0...

    """

    def __init__(
        self,
        l2: float = 1e-3,
        batch_size: int = 1,
        projection: bool = True,
        loss: str = "huber",
        epsilon: float = 0.1,
        t0: int = 0,
        forgets: bool = True,
        standardize: bool = True,
        max_mb: int = 1_024,
    ) -> None:
        self.epsilon = number("epsilon", epsilon, 0.0, 1e12)
        self.l2 = number("l2", l2, 1e-12, 1e6)
        self.batch_size = whole("batch_size", batch_size, 1, 10**9)
        self.projection = flag("projection", projection)
        self.loss = choice("loss", loss, LOSSES_OF_NUMBERS)
        self.t0 = whole("t0", t0, 0, 10**12)
        self.forgets = flag("forgets", forgets)
        super().__init__(standardize, max_mb)

    def _members(self) -> Sequence[Member]:
        return (
            Pegasos(
                l2=self.l2,
                batch_size=self.batch_size,
                projection=self.projection,
                loss=LOSSES_OF_NUMBERS[self.loss],
                t0=self.t0,
                forgets=self.forgets,
                epsilon=self.epsilon,
            ),
            Numbers(epsilon=self.epsilon, farthest=FARTHEST if self.standardize else GREATEST),
        )
