"""What learners share whose machines step against a loss of margins: the options that say which."""

from __future__ import annotations

from typing import TypedDict

from stream_llsvm.kernels.losses import LOSSES, MULTICLASS
from stream_llsvm.learners.base import LocalClassifier
from stream_llsvm.options import choice


class Margins(TypedDict):
    """The loss and how it takes several classes, as kernels know them."""

    loss: int
    multiclass: int


class MarginClassifier(LocalClassifier):
    """A classifier with the options ``loss`` and ``multiclass``."""

    def __init__(
        self, loss: str, multiclass: str, standardize: bool, max_mb: int, seed: int
    ) -> None:
        self.loss = choice("loss", loss, LOSSES)
        self.multiclass = choice("multiclass", multiclass, MULTICLASS)
        super().__init__(standardize, max_mb, seed)

    @property
    def _margins(self) -> Margins:
        """The options as members take them."""
        return {"loss": LOSSES[self.loss], "multiclass": MULTICLASS[self.multiclass]}
