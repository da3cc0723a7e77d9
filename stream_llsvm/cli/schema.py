"""What a pipeline may say: its sections, their keys, what each may be, and the flag that says it.

This is the only place where an option of a pipeline is declared, but for those of connectors, which
declare their own: files are checked by it, and the flags of the commands, with their help and their
shell completion, are made of it (`options`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stream_llsvm.connectors.keys import (
    FILE,
    FOLDER,
    PLACE,
    PLACES,
    SWITCH,
    TEXT,
    Key,
    Kind,
    any_number,
    one_of,
    text,
    whole_number,
)
from stream_llsvm.connectors.registry import FIELDS, connectors, merged

_FOREVER = 1e12


def secret(name: str, value: Any) -> str:
    """Return value if it is text; it is not shown if it is not."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be text")
    return value


def _models() -> Iterable[str]:
    from stream_llsvm.cli.models import short_names

    return short_names()


SECRET = Kind(secret)
MODEL = Kind(text, metavar="MODEL", choices=_models)

_EXAMPLES = ", ".join(one.example for scheme, one in connectors().items() if scheme != "file")
_READ = {
    "from": Key(PLACES, "--from", f"A file (several: repeat), or {_EXAMPLES}.", needed=True),
    **merged(FIELDS, "source"),
}

SECTIONS: dict[str, dict[str, Key]] = {
    "source": _READ,
    "labels": {
        **{name: key._replace(flag="") for name, key in _READ.items()},
        "from": Key(
            PLACES,
            "--labels",
            "Labels that come later: a file or topic with key and label.",
            needed=True,
        ),
        "label": _READ["label"]._replace(needed=True),
        "key": _READ["key"]._replace(needed=True),
        "most": Key(whole_number(1, 10**9)),
        "longest": Key(any_number(0, _FOREVER)),
    },
    "model": {  # and the options of the class
        "class": Key(MODEL, "--model", "committee, sapl, ... or a class by its name."),
        "save": Key(FILE, "--save", "Write the model to this file at the end."),
    },
    "sink": {
        "to": Key(
            PLACE,
            "--to",
            "Predictions: a .jsonl or .csv file, - or kafka://host:port/topic.",
            needed=True,
        ),
        **merged({}, "sink"),
    },
    "dead_letters": {
        "to": Key(PLACE, "--dead-letters", "Where records go that cannot be read.", needed=True),
        **merged({}, "dead_letter"),
    },
    "checkpoints": {
        "folder": Key(
            FOLDER, "--checkpoints", "A folder: the run goes on from there.", needed=True
        ),
        "every": Key(any_number(0, _FOREVER, "SECONDS"), "--every", "Between checkpoints (60)."),
        "keep": Key(whole_number(1, 10**6), "--keep", "How many checkpoints are kept (3)."),
    },
    "engine": {
        "max_batch": Key(whole_number(1, 10**6), "--max-batch", "Records taken at once (1000)."),
        "max_rejected_ratio": Key(
            any_number(0, 1),
            "--max-rejected-ratio",
            "Stop when more than this share cannot be used (0.5).",
        ),
        "window": Key(
            whole_number(1, 10**7), "--window", "Records the last scores look at (1000)."
        ),
        "detector": Key(one_of("adwin", "none"), "--detector", "adwin (usual) or none."),
        "probabilities": Key(
            one_of("top", "all"),
            "--probabilities",
            "Write that of the likeliest label (top, usual), or of all.",
        ),
    },
    "dashboard": {
        "host": Key(TEXT),
        "port": Key(whole_number(0, 65_535)),
        "token": Key(SECRET),
        "new_token": Key(
            SWITCH, "--new-token", "Make a token for the page, and print it in its address."
        ),
    },
}
NEEDED = ("source",)


def places(wanted: str) -> list[tuple[str, str]]:
    """Return the sections and keys that a flag says; most flags say one.

    Examples
    --------
    >>> places("--window"), places("--label")
    ([('engine', 'window')], [('source', 'label'), ('labels', 'label')])

    """
    return [
        (section, name)
        for section, keys in SECTIONS.items()
        for name, key in keys.items()
        if key.flag == wanted
    ]
