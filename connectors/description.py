"""Sources as plain data, so that each of many processes can open the same one for itself.

A description is what a pipeline's ``[source]`` says, ``{"from": [addresses], "label": ...}``, with
secrets as ``{"env": NAME}``, which are read where the source is opened; or a list that is in
memory, ``{"list": {"records": [...], "label": ...}}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stream_llsvm.connectors.registry import FIELDS, connector_of

if TYPE_CHECKING:
    from stream_llsvm.connectors.base import Source


def opened(description: Mapping[str, Any]) -> Source:
    """Return the source of a description, connected.

    Raises ValueError, OSError, ImportError or SourceError if there is none.

    Examples
    --------
    >>> source = opened({"list": {"records": [{"x": 1.0, "y": "a"}], "label": "y"}})
    >>> source.poll(10, 0.0).labels
    ['a']

    """
    if "list" in description:
        from stream_llsvm.connectors.list_source import ListSource

        return ListSource(**description["list"])
    addresses = description["from"]
    connector = connector_of(addresses[0])
    known = (*FIELDS, *connector.source_options, "numeric")
    options = {name: description[name] for name in known if name in description}
    return connector.source(addresses, options)


def described(addresses: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a source by the options that it was made with; None is left out.

    Examples
    --------
    >>> described(["a.csv"], {"label": "y", "ignore": frozenset("ba"), "features": None})
    {'from': ['a.csv'], 'label': 'y', 'ignore': ['a', 'b']}

    """
    found: dict[str, Any] = {"from": list(addresses)}
    for name, value in options.items():
        if isinstance(value, set | frozenset):
            found[name] = sorted(value)
        elif value is not None:
            found[name] = list(value) if isinstance(value, tuple) else value
    return found
