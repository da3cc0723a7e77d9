"""What a pipeline may say: sections, keys, what each may be, and its flag; and flags made of that.

It is the only place where an option of a pipeline is declared; connectors declare their own.
Pipeline files are checked by it, and `--help` and shell completion are made of it.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from typer import Argument, Option

from stream_llsvm.cli.decide import KEYS
from stream_llsvm.cli.errors import MistakeError
from stream_llsvm.connectors.keys import (
    COLUMN,
    COLUMNS,
    FILE,
    FOLDER,
    ORDER,
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
from stream_llsvm.connectors.registry import FIELDS, Connector, connectors, merged

_FOREVER = 1e12


def secret(name: str, value: Any) -> str:
    """Return text, or what ``{env = "NAME"}`` or ``{file = "path"}`` names; it is never shown."""
    if isinstance(value, Mapping) and len(value) == 1 and set(value) <= {"env", "file"}:
        ((where, at),) = value.items()
        try:
            read = Path(str(at)).read_text(encoding="utf-8") if where == "file" else None
            value = os.environ.get(str(at)) if read is None else read.rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            value = None
        if not value:
            raise ValueError(f"{name}: the {where} {str(at)!r} cannot be read, or is empty")
    if not isinstance(value, str) or not value:
        raise ValueError(f'{name} is text, {{ env = "NAME" }} or {{ file = "path" }}')
    return value


def _models() -> Iterable[str]:
    from stream_llsvm.cli.models import short_names

    return short_names()


def _workers(name: str, value: Any) -> Any:
    """Return how many learners there are: a number from 1 up, or ``auto``."""
    if value == "auto" or (type(value) is int and value >= 1):
        return value
    raise ValueError(f'{name} is a whole number from 1 up, or "auto", not {value!r}')


def _number_or_word(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


SECRET = Kind(secret)
WORKERS = Kind(
    _workers, metavar="N|auto", choices=lambda: ["auto", "2", "4"], parse=_number_or_word
)
MODEL = Kind(text, metavar="MODEL", choices=_models)


_READY_LAG = Key(
    whole_number(0, 10**12),
    "--ready-lag",
    "Records that may wait to be read; with more /readyz says 503 (any number).",
)


def _examples(can: str) -> str:
    """Return addresses of the systems, beside files, that fill in this method of a connector."""
    able = (
        one.example
        for scheme, one in connectors().items()
        if scheme != "file" and getattr(type(one), can) is not getattr(Connector, can)
    )
    return ", ".join(able)


_READ = {
    "from": Key(
        PLACES, "--from", f"A file (several: repeat), or {_examples('source')}.", needed=True
    ),
    **merged(FIELDS, "source"),
}

SECTIONS: dict[str, dict[str, Key]] = {
    "source": _READ,
    "fields": {},  # what columns are, by their names
    "labels": {
        **{name: key._replace(flag="") for name, key in _READ.items() if name != "weight"},
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
        "class": Key(
            MODEL, "--model", "committee, sapl, llsvm-regressor, ... or a class by its name."
        ),
        "name": Key(TEXT, help="What it is called beside challengers (original)."),
        "save": Key(FILE, "--save", "Write the model to this file at the end."),
        "per_key": Key(
            SWITCH, "--per-key", "A model for each --key, such as a customer, beside one for all."
        ),
        "key": Key(COLUMN),
        "max_keys": Key(
            whole_number(1, 2**31), "--max-keys", "Keys that are kept; the least used go (all)."
        ),
        "spill": Key(
            FOLDER, "--spill", "A folder: keys beyond --max-keys go there, and come back."
        ),
    },
    "decision": KEYS,
    "challengers": {},  # models by their names, with the keys of [model]
    "sink": {
        "to": Key(
            PLACE,
            "--to",
            f"Predictions: a .jsonl or .csv file, - or {_examples('sink')}.",
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
        "standby": Key(
            SWITCH, "--standby", "Wait while another process runs this, and go on when it dies."
        ),
        "lease": Key(
            any_number(0.5, 3_600, "SECONDS"),
            "--lease",
            "With --standby: how long a run may be silent before it is taken for dead (5).",
        ),
    },
    "publish": {
        "folder": Key(
            FOLDER, "--publish", "Put the model there now and then, for `answer`.", needed=True
        ),
        "every": Key(any_number(0, _FOREVER, "SECONDS"), "--publish-every", "Between two (5)."),
        "keep": Key(whole_number(2, 10**6)),
    },
    "engine": {
        "max_batch": Key(whole_number(1, 10**6), "--max-batch", "Records taken at once (1000)."),
        "max_rejected_ratio": Key(
            any_number(0, 1),
            "--max-rejected-ratio",
            "Stop when more than this share cannot be used (0.5).",
        ),
        "max_classes": Key(
            whole_number(1, 10**6),
            "--max-classes",
            "Classes that are learned; a record with one more is rejected (1000).",
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
        "slices": Key(
            COLUMNS, "--slices", "Fields, such as a country: scores by their values, too."
        ),
    },
    "cluster": {
        "workers": Key(
            WORKERS,
            "--workers",
            "Learn with so many learners, merged after each round; auto: more while it is behind.",
            needed=True,
        ),
        "address": Key(
            TEXT,
            "--cluster",
            "Where they live: auto (Ray on this machine, usual), host:6379, or local.",
        ),
        "slice": Key(
            whole_number(1, 10**9), "--slice", "Records that each learns between merges (5000)."
        ),
        "newest": Key(any_number(1, 1_000)),
        "audit": Key(any_number(0, 1)),
        "force": Key(SWITCH, "--force", "Let more than 16 learners share one model."),
    },
    "input": {
        "watch": Key(SWITCH, help="Whether the fields are watched for drift (true)."),
        "reference": Key(
            TEXT,
            "--reference",
            'Hold the fields against a file, or against "the first 10,000" records.',
        ),
    },
    "dashboard": {
        "host": Key(TEXT),
        "port": Key(whole_number(0, 65_535)),
        "token": Key(SECRET),
        "new_token": Key(
            SWITCH, "--new-token", "Make a token for the page, and print it in its address."
        ),
        "ready_lag": _READY_LAG,
    },
    "events": {
        "webhook": Key(SECRET, help="A URL that each event but checkpoints is posted to, as JSON."),
    },
}
NEEDED = ("source",)
#: What one learner heeds and several do not, and why: whoever says it and wants several is told so.
OF_ONE_LEARNER = {
    ("source", "max_wait"): "several learners wait for every partition, however long",
    **{("decision", name): "decisions are made by one learner" for name in KEYS},
    ("decision", "class_weight"): "classes are weighed by one learner",
    ("engine", "slices"): "slices are scored by one learner",
    ("engine", "max_classes"): "classes are bounded by one learner",
    ("engine", "max_batch"): "several learners take a slice at once",
    ("input", "watch"): "the fields are watched by one learner",
    ("input", "reference"): "the fields are watched by one learner",
}
#: What may be said of a challenger, beside its model's own options.
OF_A_CHALLENGER = ("class", "per_key", "key", "max_keys")

#: The section ``[serve]`` of a pipeline that is served: `serve` knows it, `run` does not.
SERVE: dict[str, Key] = {
    "host": Key(TEXT, "--host", "Where it listens (127.0.0.1); elsewhere only with tokens."),
    "port": Key(whole_number(0, 65_535), "--port", "Where it listens (8766)."),
    "tokens": Key(FILE, "--tokens", "A TOML file of tokens and what each may do."),
    "tls_cert": Key(FILE, "--tls-cert", "For HTTPS: the certificate."),
    "tls_key": Key(FILE, "--tls-key", "For HTTPS: its key."),
    "body_bytes": Key(
        whole_number(1_000, 2**30), "--body-bytes", "The longest body of a request (8000000)."
    ),
    "waiting": Key(
        whole_number(100, 10**7),
        "--waiting",
        "Records that may wait for a model; beyond it requests come too fast (50000).",
    ),
    "ids": Key(
        whole_number(0, 10**8), "--ids", "Ids that are remembered, to learn each once (100000)."
    ),
    "log_bytes": Key(
        whole_number(10**6, 10**15),
        "--log-bytes",
        "Of a model's log that are kept beyond what checkpoints need (4294967296).",
    ),
    "log_days": Key(
        any_number(0, 36_500, "DAYS"), "--log-days", "The same by age (as long as there is room)."
    ),
    "ready_lag": _READY_LAG,
}


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


_AFTER = "max_records"  # the flags that are made stand before it in --help

Command = TypeVar("Command", bound=Callable[..., Any])
Complete = Callable[[str], list[str]]

#: What may be said of a file by flags wherever one is read.
FILE_COLUMNS = frozenset(
    name
    for name, key in SECTIONS["source"].items()
    if key.flag
    and (not key.only or "file" in key.only)
    and name not in ("from", "follow", *ORDER)  # which mean something to a run of several
)
DATA = Annotated[str, Argument(metavar="FILE", help="A file of records.")]
SAVED = Annotated[
    str, Argument(metavar="MODEL", help="A model file, a checkpoint or a folder of them.")
]
TRUST = Annotated[
    bool,
    Option(
        "--trust-pickle",
        help="Read pickled parts, which can run any code: only of a file that is your own.",
    ),
]
FOLDER_FLAG = Annotated[
    str, Option("--checkpoints", metavar="FOLDER", help="The run's folder of checkpoints.")
]
WAIT = Annotated[
    float, Option(min=0, metavar="SECONDS", help="How long to wait for the run's answer.")
]
JSON = Annotated[bool, Option("--json", help="Print one JSON object at the end.")]
MAX_RECORDS = Annotated[
    int | None, Option(min=1, metavar="N", help="Stop after the first so many.")
]


def completing(choices: Callable[[], Iterable[str]], *, several: bool = False) -> Complete:
    """Return what completes a value for a shell: one of these, or several between commas.

    Examples
    --------
    >>> completing(lambda: ["sapl", "llsvm"], several=True)("llsvm,s")
    ['llsvm,sapl']

    """

    def complete(incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",") if several else ("", "", incomplete)
        return [f"{before}{comma}{one}" for one in choices() if one.startswith(begun)]

    return complete


def flags_of_pipeline() -> dict[str, Key]:
    """Return every flag that says something of a pipeline, in the order of its sections."""
    found: dict[str, Key] = {}
    for keys in SECTIONS.values():
        for key in keys.values():
            if key.flag:
                found.setdefault(key.flag, key)
    return found


def with_flags(flags: Mapping[str, Key]) -> Callable[[Command], Command]:
    """Give a command these flags; it takes their values as ``**given``, by their names."""

    def decorated(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        known = [one.name for one in own]
        at = known.index(_AFTER) if _AFTER in known else len(own)
        made = [_parameter(flag, key) for flag, key in flags.items()]
        by_name = [one.replace(kind=one.KEYWORD_ONLY) for one in (*own[:at], *made, *own[at:])]
        command.__signature__ = signature.replace(parameters=by_name)  # type: ignore[attr-defined]
        return command

    return decorated


def columns(names: Collection[str] = FILE_COLUMNS, **helps: str) -> dict[str, Key]:
    """Return the flags of these keys of ``[source]``, some with what they mean to a command."""
    return {
        key.flag: key._replace(help=helps.get(name, key.help))
        for name, key in SECTIONS["source"].items()
        if name in names
    }


def columns_in(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of ``[source]`` that were given by flags, checked."""
    names = {key.flag: name for name, key in SECTIONS["source"].items() if key.flag}
    return {names[flag]: value for flag, value in checked(columns(names.values()), given).items()}


def checked(flags: Mapping[str, Key], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of those of these flags that were given; MistakeError if one is wrong."""
    found: dict[str, Any] = {}
    for flag, value in values_of(flags, given).items():
        kind = flags[flag].kind
        try:
            if value is not None:
                found[flag] = kind.check(_variable(flag), kind.parse(value))
        except ValueError as error:
            raise MistakeError(f"{flag}: {error}") from None
    return found


def values_of(flags: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given for each of these flags, None where nothing was."""
    values = {flag: given.get(_variable(flag)) for flag in flags}
    return {flag: None if one is False or one == [] else one for flag, one in values.items()}


def _variable(flag: str) -> str:
    """Return the name of the parameter that holds a flag's value; ``from`` is a keyword.

    Examples
    --------
    >>> _variable("--max-batch"), _variable("--from")
    ('max_batch', 'from_')

    """
    return re.sub("^(from)$", r"\1_", flag.removeprefix("--").replace("-", "_"))


def _parameter(flag: str, key: Key) -> inspect.Parameter:
    kind: Kind = key.kind
    option = Option(
        flag,
        help=key.help,
        metavar=kind.metavar,
        autocompletion=completing(kind.choices),
    )
    absent = False if kind.type is bool else None
    of: Any = kind.type if kind.type is bool else kind.type | None
    annotation = Annotated[of, option]
    name = _variable(flag)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=absent, annotation=annotation
    )
