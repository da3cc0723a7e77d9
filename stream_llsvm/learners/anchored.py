"""What the three anchor classifiers share: their options, checked and made into a member."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from inspect import cleandoc
from types import MappingProxyType
from typing import Any

from stream_llsvm.feature_maps.plain import to_plain
from stream_llsvm.feature_maps.space import MappedSpace
from stream_llsvm.learners.feature_map import CODE_IN, checked_map, feature_of, unmapped
from stream_llsvm.learners.margins import MarginClassifier
from stream_llsvm.learners.problem import put_at_optimum
from stream_llsvm.locks import locked
from stream_llsvm.members.anchors.codes import CODINGS
from stream_llsvm.members.anchors.member import LADDER, Anchors
from stream_llsvm.members.anchors.state import LADDER as LADDER_SCHEDULE
from stream_llsvm.members.anchors.state import PAPER_SAPL
from stream_llsvm.members.base import Member
from stream_llsvm.model.explain import Explanation
from stream_llsvm.options import choice, number, whole
from stream_llsvm.records.frames import as_matrix
from stream_llsvm.records.labels import as_labels

#: How much the common machine, which answers every record, counts beside the anchors' own.
COMMON_SHARE = 0.17
_SMALLEST_L2_T0 = 1e-4


class AnchorClassifier(MarginClassifier):
    """Linear machines around anchors. The subclasses choose what is learned of them.

    Parameters
    ----------
    n_anchors
        How many anchors there may be. They are born from the first records.
    n_neighbors
        How many of the nearest anchors answer a record.
    coding
        How the nearest share the answer: "softmax", by exp(-beta d^2), with beta relative to the
        running mean of d^2, SAPL(2) (localized soft assignment); "inverse_distance", by 1 / d, as
        LL section 4 has it (van Gemert); or "reconstruction", by how the record is best blended of
        them (LLE, LLC), which has no supervised anchor step.
    step_size
        "auto": several step sizes side by side, each with its raw and its averaged weights, and
        the mixer finds out which to believe. A number: that one step, relative to the mean square
        of the coded record, so that 1 is a sensible start for any data. "paper": the papers' own
        schedule 1 / (l2 (t + t0)), LL Algorithm 1, SAPL Algorithm 1; they have
        ``loss="hinge", multiclass="ovr"``.
    l2
        The penalty on the weights: lambda in LL(9).
    t0
        Only for "paper": keeps the first steps short.
    skip
        Only for "paper": weights are shrunk every so many records.
    standardize
        Whether features are brought to mean 0 and variance 1, learned on the fly. If not, they
        should come near that: what lies far from 0 is learned slowly.
    loss
        "logistic", "hinge" or "huberized_hinge": squared up to a violation of one, then linear.
    multiclass
        With more than two classes: "crammer_singer", all classes in one loss (for "logistic" that
        is the softmax's), or "ovr", one class against the rest.
    max_mb
        How much memory the model may grow to take as features and classes appear. A record that
        would take it beyond is refused.
    seed
        For the random order of `warm_start`. Learning from a stream uses no random numbers.
    bias_step
        Only for "paper": how many times as far as LL(12) says biases go in a step. They are not
        penalised in LL(9), so nothing but the loss draws them to where they belong, in steps that
        are as short as those on weights: where they have far to go, they are still on their way
        after ten passes. With 10 to 20 they come several times nearer to the optimum; too far a
        step keeps them restless.
    feature_map
        None, or a map phi on which the machines are learned instead of on the record itself,
        LL(16), LL(17): a `HomogeneousKernelMap` (then this is the paper's locally additive SVM),
        `FourierFeatures`, or an `OnlineNystroem` that has learned its landmarks. The map is taken
        as it is and does not change any more. Not for `LCCClassifier` and `CSVMClassifier`.
    code_in
        Only with a feature map: whether anchors and codes are in the "input" space or in the
        "feature" space, LL section 3.2. With "input" the model's columns are those of x and those
        of phi(x), with "feature" the latter only; `features` lists them as ("phi", feature,
        number).

    """

    def __init_subclass__(cls) -> None:
        """Put the options that all share into the subclass's documentation."""
        super().__init_subclass__()
        shared = cleandoc(AnchorClassifier.__doc__ or "").partition("Parameters\n")
        cls.__doc__ = cleandoc(cls.__doc__ or "").replace("{parameters}", "".join(shared[1:]))

    _flat = False
    _paper_schedule = PAPER_SAPL

    def __init__(
        self,
        n_anchors: int = 100,
        n_neighbors: int = 8,
        coding: str = "softmax",
        step_size: float | str = "auto",
        l2: float = 0.0,
        t0: int = 1_000,
        skip: int = 100,
        standardize: bool = True,
        loss: str = "logistic",
        multiclass: str = "crammer_singer",
        max_mb: int = 1_024,
        seed: int = 0,
        bias_step: float = 1.0,
        feature_map: Any = None,
        code_in: str = "input",
    ) -> None:
        self.n_anchors = whole("n_anchors", n_anchors, 1, 100_000)
        self.n_neighbors = whole("n_neighbors", n_neighbors, 1, 1_000)
        self.coding = choice("coding", coding, CODINGS)
        self.step_size: float | str = step_size
        if isinstance(step_size, str):
            choice("step_size (if it is not a number)", step_size, ("auto", "paper"))
        else:
            self.step_size = number("step_size", step_size, 1e-6, 1e3)
        self.l2 = number("l2", l2, 0.0, 1.0)
        self.t0 = whole("t0", t0, 1, 10**12)
        self.skip = whole("skip", skip, 1, 10**6)
        self.bias_step = number("bias_step", bias_step, 1e-3, 1e3)
        self.feature_map = checked_map(feature_map)
        self.code_in = choice("code_in", code_in, CODE_IN)
        super().__init__(loss, multiclass, standardize, max_mb, seed)
        if self.feature_map is not None:
            # A copy: what the user's own learns later must not change what was learned here.
            self._features = MappedSpace(copy.deepcopy(self.feature_map), code_in == "input")
        if coding == "reconstruction" and self._supervised_anchors:
            raise ValueError(
                'coding="reconstruction" has no supervised anchor step: use LLSVMClassifier, or '
                "LCCClassifier(supervised=False)"
            )
        if step_size == "paper" and not l2 * t0 >= _SMALLEST_L2_T0:
            raise ValueError(
                f'step_size="paper" begins with steps of 1 / (l2 t0), at most '
                f"{1 / _SMALLEST_L2_T0:,.0f}: choose for example l2=1e-4, t0=1000; "
                f"got l2={l2}, t0={t0}"
            )
        if step_size == "paper" and skip >= t0:
            raise ValueError(
                f'step_size="paper" shrinks weights by 1 - skip / (t + t0): skip must be below t0; '
                f"got skip={skip}, t0={t0}"
            )

    @property
    def _supervised_anchors(self) -> bool:
        return True

    @property
    def _common_share(self) -> float:
        return COMMON_SHARE

    def _members(self) -> Sequence[Member]:
        auto, paper = self.step_size == "auto", self.step_size == "paper"
        one = 1.0 if isinstance(self.step_size, str) else float(self.step_size)
        return (
            Anchors(
                n_anchors=self.n_anchors,
                n_neighbors=min(self.n_neighbors, self.n_anchors),
                coding=CODINGS[self.coding],
                **self._margins,
                schedule=self._paper_schedule if paper else LADDER_SCHEDULE,
                steps=LADDER if auto else (one,),
                averaged=auto,
                supervised=self._supervised_anchors,
                flat=self._flat,
                common_share=0.0 if paper or self._flat else self._common_share,
                l2=self.l2,
                t0=self.t0,
                skip=self.skip,
                bias_step=self.bias_step if paper else 1.0,
                mapped=self.feature_map is not None and self.code_in == "input",
            ),
        )

    def _make_room(
        self,
        names: Iterable[Hashable],
        labels: Iterable[Hashable],
        named: Mapping[Hashable, float] = MappingProxyType({}),
    ) -> None:
        """Know these features and labels, and which columns are the map's."""
        super()._make_room(names, labels, named)
        if isinstance(self._features, MappedSpace) and self._features.keeps_x:
            assert self._state is not None
            self._state.views(1)["mapped"][: len(self._features)] = self._features.mapped

    def _saved_params(self) -> dict[str, Any]:
        """Return the options as plain values, from which the model can be made again."""
        params = super()._saved_params()
        if isinstance(self._features, MappedSpace):
            return params | {"feature_map": to_plain(self._features.map)}
        return params

    def warm_start(
        self, X: Any, y: Any, epochs: int = 10, w: Any = 1.0, solver: str = "sgd"
    ) -> None:
        """Learn from history first, then go live.

        A model that has no anchors yet gets them by k-means; then come the weights. Some records
        (a tenth, at most 2,000) are held out: on them the mixer finds out which experts to trust.

        Parameters
        ----------
        X
            The records, as in `learn_many`.
        y
            One label a row.
        epochs
            How many passes; with the reference solver, as many as the schedule of step sizes then
            has behind it.
        w
            How much each record counts: one number, or one a row. The reference solver has no
            weights.
        solver
            "sgd": several passes over the records, each in a fresh random order. "reference": the
            optimum of LL(10) for these anchors, with which SAPL Algorithm 1 begins; for
            ``step_size="paper", loss="hinge", multiclass="ovr"``. `SAPLClassifier` then moves its
            anchors with live records only, and is a little less accurate at first.

        """
        choice("solver", solver, ("sgd", "reference"))
        whole("epochs", epochs, 1, 1_000_000)
        if solver == "sgd":
            super().warm_start(X, y, epochs, w)
            return
        if not isinstance(w, int | float) or w != 1:
            raise ValueError('solver="reference" knows no weights w: let each record count 1')
        given = self.step_size, self.loss, self.multiclass
        if given != ("paper", "hinge", "ovr") or self.coding == "reconstruction":
            raise ValueError(
                'solver="reference" finds the optimum of LL(10), which is that of a model with '
                'step_size="paper", loss="hinge", multiclass="ovr" and codes by distance; got '
                f"{self.step_size!r}, {self.loss!r}, {self.multiclass!r}, {self.coding!r}"
            )
        names, matrix, texts = as_matrix(X)
        labels = as_labels(y, len(matrix))
        self._warm_start_rows(names, matrix, labels, epochs, put_at_optimum, texts=texts)

    @locked
    def explain_one(self, x: Mapping[Any, Any], label: Hashable | None = None) -> Explanation:
        """Take the prediction for a record apart into what each feature contributes.

        What a feature map makes of a feature counts as that feature's; what it makes of all of
        them together (Fourier features, landmarks) stays as it is and is in the bias.

        Parameters
        ----------
        x
            The record.
        label
            The label whose score is to be explained; the predicted one if None.

        """
        told = super().explain_one(x, label)
        space = self._features
        return unmapped(told, space, x) if isinstance(space, MappedSpace) else told

    def _feature_of(self, name: Hashable) -> Hashable:
        """Return which of a record's features a column is of, None if it is of all together."""
        field: Hashable = feature_of(name)
        return field if isinstance(self._features, MappedSpace) else super()._feature_of(name)
