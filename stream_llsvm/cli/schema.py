"""What a pipeline may say: its sections, their keys, what each may be, and the flag that says it.

This is the only place where an option of a pipeline is declared: files are checked by it, and the
flags of the commands, with their help and their shell completion, are made of it (`options`).
"""

from __future__ import annotations

from typing import NamedTuple

from stream_llsvm.cli.kinds import (
    COLUMN,
    COLUMNS,
    FILE,
    FOLDER,
    MODEL,
    NUMBERS,
    PLACE,
    PLACES,
    SECRET,
    SWITCH,
    TABLE,
    TEXT,
    WORDS,
    Kind,
    any_number,
    one_of,
    whole_number,
)

_FOREVER = 1e12


class Key(NamedTuple):
    """A key of a section: what it may be, and the flag that says the same.

    Attributes
    ----------
    kind
        What it may be.
    flag
        As in ``--max-batch``; empty if only a file says it.
    help
        What it means, in ``--help``.
    needed
        Whether a section is nothing without it.
    only
        ``"file"`` or ``"kafka"`` if it means nothing to the other.

    """

    kind: Kind
    flag: str = ""
    help: str = ""
    needed: bool = False
    only: str = ""


_KAFKA = {
    "options": Key(TABLE, only="kafka"),
    "connect_timeout": Key(any_number(0.1, 86_400), only="kafka"),
}
_READ = {
    "from": Key(
        PLACES, "--from", "A file (several: repeat), or kafka://host:port/topic.", needed=True
    ),
    "label": Key(COLUMN, "--label", "The column that is the label."),
    "key": Key(COLUMN, "--key", "The column to join late labels by."),
    "ignore": Key(COLUMNS, "--ignore", "Columns that are no features: a,b."),
    "features": Key(COLUMNS, "--features", "The only columns that are features: a,b."),
    "format": Key(
        one_of("auto", "csv", "jsonl", "svmlight", "parquet"),
        "--format",
        "csv, jsonl, svmlight or parquet, if the file's name does not tell.",
        only="file",
    ),
    "names": Key(COLUMNS, "--names", "The columns, if the records do not name them: a,b,y."),
    "delimiter": Key(
        TEXT,
        "--delimiter",
        "CSV: what stands between two fields, if no comma; tab for a tab.",
        only="file",
    ),
    "encoding": Key(
        TEXT, "--encoding", "Of a file, if not utf-8: latin-1, utf-16, ...", only="file"
    ),
    "missing": Key(
        WORDS,
        "--missing",
        "What stands for a missing value, instead of NA,N/A,null,None,nan,?,-",
    ),
    "decimal": Key(one_of(".", ","), "--decimal", "What stands before decimals in text: . or ,"),
    "on_bad_field": Key(
        one_of("missing", "reject"),
        "--on-bad-field",
        "What becomes of a value that cannot be read: missing (usual), or reject.",
    ),
    "follow": Key(SWITCH, "--follow", "Wait for more at the end, like tail.", only="file"),
    "message": Key(
        one_of("json", "msgpack", "csv"),
        "--message",
        "Kafka: json (usual), msgpack, or csv with --names.",
        only="kafka",
    ),
    "start": Key(one_of("earliest", "latest"), only="kafka"),
    "isolation": Key(one_of("read_committed", "read_uncommitted"), only="kafka"),
    "on_lost_data": Key(
        one_of("stop", "earliest"),
        "--on-lost-data",
        "If Kafka deleted what is wanted: stop (usual), or earliest, to go on.",
        only="kafka",
    ),
    "partitions": Key(
        NUMBERS, "--partitions", "Kafka: read only these of each topic: 0,1.", only="kafka"
    ),
    "group": Key(
        TEXT,
        "--group",
        "Kafka: show in this consumer group how far checkpoints have come.",
        only="kafka",
    ),
    **_KAFKA,
}
_WRITE = {
    "max_bytes": Key(whole_number(1_000, 10**15), only="file"),
    "keep": Key(whole_number(1, 10**6), only="file"),
    "on_lost_output": Key(
        one_of("stop", "new"),
        "--on-lost-output",
        "If a file that is written to was moved away: stop (usual) or new.",
        only="file",
    ),
    "make_topic": Key(
        SWITCH, "--make-topics", "Make the topics that are written to, if need be.", only="kafka"
    ),
    **_KAFKA,
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
        **_WRITE,
        "transactional_id": Key(TEXT, only="kafka"),
    },
    "dead_letters": {
        "to": Key(PLACE, "--dead-letters", "Where records go that cannot be read.", needed=True),
        **_WRITE,
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
