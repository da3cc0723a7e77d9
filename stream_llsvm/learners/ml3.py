"""Latent locally linear machines as a classifier of their own."""

from __future__ import annotations

from collections.abc import Sequence

from stream_llsvm.learners.margins import MarginClassifier
from stream_llsvm.members.base import Member
from stream_llsvm.members.family.ml3.member import Ml3
from stream_llsvm.options import number, whole


class ML3Classifier(MarginClassifier):
    """Several linear machines a class, and for each record the mixture of them that suits it best.

    Multiclass latent locally linear SVM, which L3-SVMs' paper compares itself with. No anchors and
    no distances say which machines are near: each class takes the code, of a p-norm of one, with
    which its machines score highest. Of p = 1 that is its best machine, of greater p a smooth blend
    of all that are above 0. The code has a closed form, so a record costs one score a machine.
    Three step sizes stand side by side, each with raw and averaged machines, and the mixer finds
    out which to believe.

    Models of this kind cannot be merged: machine by machine, two of them have learned other things.

    Parameters
    ----------
    n_machines
        How many machines each class has.
    norm
        The p of the codes' norm, 1 or greater.
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
        For the machines' first directions, and for the random order of `warm_start`.

    References
    ----------
    [^1]: Fornoni, Caputo, Orabona. Multiclass Latent Locally Linear Support Vector Machines.
        ACML 2013.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_llsvm import ML3Classifier
    >>> model = ML3Classifier()
    >>> evaluate.progressive_val_score(datasets.Bananas(), model, metrics.Accuracy())
    Accuracy: 8...%

    """

    def __init__(
        self,
        n_machines: int = 10,
        norm: float = 1.5,
        loss: str = "logistic",
        multiclass: str = "crammer_singer",
        standardize: bool = True,
        max_mb: int = 1_024,
        seed: int = 0,
    ) -> None:
        self.n_machines = whole("n_machines", n_machines, 1, 1_000)
        self.norm = number("norm", norm, 1.0, 100.0)
        super().__init__(loss, multiclass, standardize, max_mb, seed)

    def _members(self) -> Sequence[Member]:
        return (
            Ml3(
                machines=self.n_machines,
                norm=self.norm,
                seed=self.seed,
                **self._margins,
                averaged=True,
            ),
        )
