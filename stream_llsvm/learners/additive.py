"""The locally additive SVM as a classifier of its own, LL section 3.2."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.margins import MarginClassifier
from stream_llsvm.members.additive.member import Additive
from stream_llsvm.members.base import Member
from stream_llsvm.options import whole


class AdditiveSVMClassifier(MarginClassifier):
    """Each feature on hat functions, and a linear machine over them: a curve per feature.

    The locally additive SVM of LL section 3.2, LL(16), LL(17): a score is the sum of one piecewise
    linear curve per feature. It suits what a linear model suits, and problems where a feature's
    effect is not a straight line; it cannot see how two features act together. Three step sizes
    stand side by side, each with its raw and its averaged weights, and the mixer finds out which
    to believe.

    Parameters
    ----------
    n_knots
        How many knots a curve has, spread evenly from -2.5 to 2.5 standard deviations about the
        mean; a quarter of them (9 of 33) where there are more than 256 features.
    loss
        "logistic", "hinge" or "huberized_hinge": squared up to a violation of one, then linear.
    multiclass
        With more than two classes: "crammer_singer", all classes in one loss (for "logistic" that
        is the softmax's), or "ovr", one class against the rest.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the random order of `warm_start`.

    References
    ----------
    [^1]: Ladicky, Torr. Locally Linear Support Vector Machines. ICML 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import AdditiveSVMClassifier
    >>> model = AdditiveSVMClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 91...%

    """

    def __init__(
        self,
        n_knots: int = 33,
        loss: str = "logistic",
        multiclass: str = "crammer_singer",
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.n_knots = whole("n_knots", n_knots, 2, 1_025)
        super().__init__(loss, multiclass, standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        return (
            Additive(
                n_knots=self.n_knots,
                **self._margins,
                averaged=True,
            ),
        )
