"""Kernelised Pegasos whose support vectors are bounded in number."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.margins import MarginClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.family.budget_svm.maintenance import MERGING, REMOVAL
from stream_llsvm.members.family.budget_svm.member import WIDTHS, Budgeted
from stream_llsvm.options import choice, flag, number, whole

MAINTENANCE = {"merging": MERGING, "removal": REMOVAL}


class BudgetedPegasosClassifier(MarginClassifier):
    """Kernel SVM by Pegasos with at most ``budget`` support vectors (budgeted SGD).

    A record that violates the margin becomes a support vector, in steps of 1 / (l2 (t + t0)):

        f(x) = 1 / (l2 (t + t0)) (b + sum_v alpha_v exp(-gamma |x - x_v|^2))

    Once there are ``budget`` of them, room is made for each new one, so that a record's price and
    the memory stay the same for ever. Support vectors are common to all classes.

    Parameters
    ----------
    budget
        How many support vectors there may be; fewer where they would take more than 16 MB.
    maintenance
        "merging": the vector with the smallest coefficients becomes one with the other for which
        that changes the machines least, at a point between the two. "removal": it goes, of those
        with equal coefficients the oldest; cheaper, and much less accurate.
    gamma
        Of the kernel. "auto": 0.5, 2 and 8 divided by the usual squared distance between records
        and support vectors, as the first 500 records have it, side by side over the same vectors;
        the mixer finds out which to believe. A number: that one, for scaled features.
    l2
        The penalty on the weights: lambda.
    t0
        Steps are 1 / (l2 (t + t0)). "auto" is 1 / l2, with which they begin at 1; Pegasos has 0.
    forgets
        Whether steps grow again while there are more errors than usual, so that what changes is
        learned anew, however long it was the same; in calm nothing is forgotten. If not, steps are
        the paper's, and after a change a model needs about as many records as it has seen.
    loss
        "hinge", "huberized_hinge" (squared up to a violation of one, then linear) or "logistic",
        which makes a support vector of nearly every record.
    multiclass
        With more than two classes: "ovr", one class against the rest, or "crammer_singer", all
        classes in one loss (for "logistic" that is the softmax's).
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly.
    max_mb
        How much memory the model may grow to take as features and classes appear.
    seed
        For the random order of `warm_start`. Learning from a stream uses no random numbers.

    References
    ----------
    [^1]: Shalev-Shwartz, Singer, Srebro, Cotter. Pegasos: Primal Estimated sub-GrAdient SOlver for
        SVM. Mathematical Programming, 2011.
    [^2]: Wang, Crammer, Vucetic. Breaking the Curse of Kernelization: Budgeted Stochastic Gradient
        Descent for Large-Scale SVM Training. JMLR 2012.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import BudgetedPegasosClassifier
    >>> model = BudgetedPegasosClassifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        budget: int = 200,
        maintenance: str = "merging",
        gamma: float | str = "auto",
        l2: float = 1e-4,
        t0: int | str = "auto",
        forgets: bool = True,
        loss: str = "hinge",
        multiclass: str = "ovr",
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.budget = whole("budget", budget, 1, 100_000)
        self.maintenance = choice("maintenance", maintenance, MAINTENANCE)
        self.gamma: float | str = gamma
        if gamma != "auto":
            self.gamma = number('gamma (if it is not "auto")', gamma, 1e-9, 1e9)
        self.l2 = number("l2", l2, 1e-12, 1.0)
        self.t0: int | str = t0
        if t0 != "auto":
            self.t0 = whole('t0 (if it is not "auto")', t0, 0, 10**12)
        self.forgets = flag("forgets", forgets)
        super().__init__(loss, multiclass, standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        found = isinstance(self.gamma, str)
        return (
            Budgeted(
                most=self.budget,
                maintenance=MAINTENANCE[self.maintenance],
                gamma=0.0 if isinstance(self.gamma, str) else self.gamma,
                forgets=self.forgets,
                steps=WIDTHS if found else (1.0,),
                l2=self.l2,
                t0=-1.0 if isinstance(self.t0, str) else self.t0,
                **self._margins,
            ),
        )
