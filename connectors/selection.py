"""Which fields of a record are what: its label, its key, its features, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_llsvm.connectors.flat.gather import IGNORED, KEY, LABEL


class Selection:
    """Tells what each field is.

    Parameters
    ----------
    label
        The field that is the label.
    key
        The field to join late labels by; it is no feature.
    ignore
        Fields that are not features.
    features
        The fields that are features; None for all but the others.
    weight
        The field that says how much a record counts. It is read as the features are, and taken
        out of them afterwards.

    Examples
    --------
    >>> names, roles = Selection(label="y", features=["b", "a"]).roles(["a", "y", "note", "b"])
    >>> names, roles.tolist()
    (('a', 'b'), [0, -1, -3, 1])

    """

    def __init__(
        self,
        *,
        label: str | None = None,
        key: str | None = None,
        ignore: Collection[str] = (),
        features: Collection[str] | None = None,
        weight: str | None = None,
    ) -> None:
        if label is not None and label == key:
            raise ValueError(f"the field {label!r} cannot be both the label and the key")
        for what, name in (("label", label), ("key", key)):
            if weight is not None and name == weight:
                raise ValueError(f"the field {name!r} cannot be both the {what} and the weight")
        self.label = label
        self.key = key
        self.weight = weight
        self.ignore = _names(ignore)
        self.features = None if features is None else _names(features)
        for what, name in (("label", label), ("key", key), ("weight", weight)):
            if name is not None and name in (self.features or ()):
                raise ValueError(f"the field {name!r} cannot be both the {what} and a feature")
        if weight is not None and weight in self.ignore:
            raise ValueError(f"the field {weight!r} cannot be both the weight and left out")

    def wanted(self, name: str) -> bool:
        """Tell whether a field is a feature, or the weight."""
        if self.weight is not None and name == self.weight:
            return True
        if name in (self.label, self.key) or name in self.ignore:
            return False
        return self.features is None or name in self.features

    def wanted_inside(self, name: str, *, inside: bool) -> bool:
        """Tell whether a field is a feature; one inside an object also if the object is one."""
        if not inside or name == self.weight:
            return self.wanted(name)
        ways = ways_to(name)
        if name in (self.label, self.key) or not self.ignore.isdisjoint(ways):
            return False
        return self.features is None or not self.features.isdisjoint(ways)

    def roles(self, names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """Return the features among these fields, and what each field is for a compiled loop.

        That is the column of a feature, or `LABEL`, `KEY` or `IGNORED`.
        """
        apart = {self.label: LABEL, self.key: KEY}
        found: list[str] = []
        roles = []
        for name in names:
            if self.wanted(name):
                roles.append(len(found))
                found.append(name)
            else:
                roles.append(apart.get(name, IGNORED))
        return tuple(found), np.array(roles, dtype=np.int64)


def ways_to(name: str) -> list[str]:
    """Return the name of a field, and of the objects that it is in.

    Examples
    --------
    >>> ways_to("payload.from.country")
    ['payload.from.country', 'payload.from', 'payload']

    """
    ways = [name]
    while "." in ways[-1]:
        ways.append(ways[-1].rpartition(".")[0])
    return ways


def _names(given: Collection[str]) -> frozenset[str]:
    return frozenset([given] if isinstance(given, str) else given)
