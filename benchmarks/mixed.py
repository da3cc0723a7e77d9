"""Records with text, categories and numbers in them, taken as they are, beside peers.

Files are CSV with a header, gzip or not, the label in the column `label`, in the order to be
learned. This project's learners get every value as the text that stands in the file. Peers get
numbers as numbers and the rest as names, one-hot where they know numbers only.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import math
from argparse import ArgumentTypeError, Namespace
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import options
import peers
import results
from river import compose, forest, linear_model, multiclass, naive_bayes, preprocessing, tree
from scores import Pass, RecordLearner, baselines

ROWS = 20_000
LABEL = "label"
#: Probabilities below are raised to it: who says 0 for what then happens is not out at once.
FLOOR = 1e-4
MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}

#: Whole numbers that are codes: peers are told, this project's learners are not. "*": all fields.
CODES = {
    "amazon": ("*",),
    "splice": ("*",),
    "soybean": ("*",),
    "movielens": ("user", "item", "zip"),
    "airlines": ("Flight",),
}

Record = dict[Hashable, Any]


class File(NamedTuple):
    """A stream of records as text, and their labels."""

    name: str
    records: list[Record]
    labels: list[str]


def load(path: Path, rows: int) -> File:
    """Read the first records of a file."""
    name = path.name.partition(".")[0]
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as text:
        lines = csv.DictReader(text)
        records = [record for record, _ in zip(lines, range(rows), strict=False)]
    return File(name, records, [record.pop(LABEL) for record in records])


def number(text: str) -> float | None:
    """Return the number that a text is, None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def typed(file: File) -> list[Record]:
    """Return records as a peer gets them: numbers, names, and nothing where there is nothing.

    Peers cannot take a field that is a number here and a name there: who looks at the whole file
    first can tell them, and does.
    """
    there = [
        {name: text for name, text in record.items() if text.strip().lower() not in MISSING}
        for record in file.records
    ]
    told = CODES.get(file.name, ())
    names = set(file.records[0]) if "*" in told else set(told)
    names |= {name for x in there for name, text in x.items() if number(text) is None}
    return [{k: text if k in names else number(text) for k, text in x.items()} for x in there]


def numbers_only(file: File) -> list[Record]:
    """Return records without their names, as who knows numbers only has to take them."""
    return [{k: v for k, v in x.items() if isinstance(v, float)} for x in typed(file)]


def counted(record: Record) -> dict[str, int]:
    """Return a record as words: a text's own, else the field and its value as one."""
    words: dict[str, int] = {}
    for name, value in record.items():
        text = str(value)
        spelt = text.lower().split() if len(text.split()) > 2 else [f"{name}={text}"]
        words |= dict.fromkeys(spelt, 1)
    return words


def logistic_regression(classes: int) -> RecordLearner:
    """Return river's logistic regression over scaled numbers and one-hot names."""
    model: Any = linear_model.LogisticRegression()
    if classes > 2:
        model = multiclass.OneVsRestClassifier(model)
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    names = compose.SelectType(str) | preprocessing.OneHotEncoder()
    made: RecordLearner = (numbers + names) | model
    return made


class VowpalWabbit:
    """Vowpal Wabbit, one against all, with the options given."""

    def __init__(self, classes: int, *flags: str) -> None:
        from vowpalwabbit import Workspace

        self._codes: dict[str, int] = {}
        kind = ["--oaa", str(max(2, classes)), "--probabilities", "--loss_function=logistic"]
        self._model = Workspace(arg_list=[*kind, *flags, "--quiet", "-b", "22"])

    def _line(self, x: Record) -> str:
        parts = []
        for i, (name, value) in enumerate(x.items()):
            spelt = "".join(c if c.isalnum() else "_" for c in str(value))
            space = chr(97 + i % 26)
            named = "".join(c if c.isalnum() else "_" for c in str(name))
            if isinstance(value, float):
                parts.append(f"|{space} {named}:{value}")
            elif " " in str(value).strip():
                words = " ".join("".join(c if c.isalnum() else " " for c in str(value)).split())
                parts.append(f"|{space} {words}")
            else:
                parts.append(f"|{space} {named}={spelt}")
        return " ".join(parts)

    def predict_proba_one(self, x: Record) -> dict[str, float]:
        """Return the probability of each label."""
        told = self._model.predict(self._line(x))
        return {label: told[code - 1] for label, code in self._codes.items()}

    def predict_one(self, x: Record) -> Any:
        """Return the label."""
        told = self.predict_proba_one(x)
        return max(told, key=told.__getitem__) if told else None

    def learn_one(self, x: Record, y: Any) -> None:
        """Learn the record."""
        code = self._codes.setdefault(y, len(self._codes) + 1)
        self._model.learn(f"{code} {self._line(x)}")


def trees(classes: int) -> RecordLearner:
    """Return river's Hoeffding tree."""
    return tree.HoeffdingTreeClassifier()


def adaptive_forest(classes: int) -> RecordLearner:
    """Return river's adaptive random forest of ten trees."""
    return forest.ARFClassifier(n_models=10, seed=1)


def bayes(classes: int) -> RecordLearner:
    """Return river's naive Bayes of words; a number is a word, too."""
    spelt: Any = compose.FuncTransformer(counted)
    made: RecordLearner = spelt | naive_bayes.MultinomialNB()
    return made


PEERS: dict[str, Callable[[int], Any]] = {
    "logreg": logistic_regression,
    "tree": trees,
    "bayes": bayes,
    "arf": adaptive_forest,
    "vw": VowpalWabbit,
    "vw-pairs": lambda classes: VowpalWabbit(classes, "-q", "::"),
}


def available(peer: str) -> bool:
    """Tell whether a peer can be run here."""
    return not peer.startswith("vw") or importlib.util.find_spec("vowpalwabbit") is not None


def run(model: RecordLearner, records: list[Record], labels: Sequence[Any], limit: float) -> Pass:
    """Predict and learn record by record, for at most so many seconds of processor time."""
    n = len(labels)
    hits, top, truth = np.zeros(n, dtype=np.bool_), np.zeros(n), np.zeros(n)
    begin = process_time()
    until = begin + limit
    done = n
    for i, (x, y) in enumerate(zip(records, labels, strict=True)):
        answer = model.predict_proba_one(x)
        model.learn_one(x, y)
        if answer:
            label = max(answer, key=answer.__getitem__)
            hits[i], top[i], truth[i] = label == y, answer[label], answer.get(y, 0.0)
        if process_time() > until:
            done = i + 1
            break
    return Pass(hits[:done], process_time() - begin, top[:done], truth[:done])


def loss(done: Pass, n: int | None = None) -> float:
    """Return the mean log loss over the first records."""
    assert done.truth is not None
    return float(-np.mean(np.log(np.maximum(done.truth[:n], FLOOR))))


def accuracy(done: Pass, n: int | None = None) -> float:
    """Return the percentage of hits over the first records."""
    return 100 * float(np.mean(done.hits[:n]))


def both(done: Pass | None) -> str:
    """Write accuracy and log loss; a star where time ran out."""
    if done is None:
        return "-"
    return f"{accuracy(done):.2f} / {loss(done):.3f}"


def measure(file: File, arguments: Namespace) -> dict[str, Pass]:
    """Return each learner's pass over a file."""
    found: dict[str, Pass] = {}
    classes = len(set(file.labels))
    few, few_labels = file.records[:50], file.labels[:50]
    for name in arguments.learners:
        run(peers.ours(name), few, few_labels, math.inf)  # compiling is measured in speed.py
        found[name] = run(peers.ours(name), file.records, file.labels, math.inf)
    if arguments.dropped:
        dropped = numbers_only(file)
        found["dropped"] = run(peers.ours("committee"), dropped, file.labels, math.inf)
    records = typed(file)
    # Of two classes some know only true and false.
    labels = [y == file.labels[0] for y in file.labels] if classes == 2 else file.labels
    for name in arguments.peers:
        found[name] = run(PEERS[name](classes), records, labels, arguments.limit)
    for name, done in found.items():
        print(f"{file.name:12} {name:10} {both(done):16} {done.micros():9.1f} us", flush=True)
    return found


def report(files: list[File], found: list[dict[str, Pass]], arguments: Namespace) -> str:
    """Return the tables and the notes that belong to them."""
    names = list(found[0])
    rows = []
    for file, passes in zip(files, found, strict=True):
        n = len(file.labels)
        cells = [both(passes[name]) + ("*" if len(passes[name].hits) < n else "") for name in names]
        beside = " / ".join(f"{value:.2f}" for value in baselines(np.array(file.labels)))
        rows.append([file.name, f"{n:,}", beside, *cells])
    means = []
    first = names[0]
    totals: dict[str, list[tuple[float, float, float, float, float]]] = defaultdict(list)
    for passes in found:
        for name, done in passes.items():
            n, ours = len(done.hits), passes[first]
            totals[name].append(
                (accuracy(done), loss(done), accuracy(ours, n), loss(ours, n), done.micros())
            )
    for name, values in totals.items():
        mean = np.mean(values, axis=0)
        won = sum(v[2] > v[0] for v in values)
        lost = sum(v[2] < v[0] for v in values)
        means.append(
            [name, f"{mean[0]:.2f} / {mean[1]:.3f}", f"{mean[2]:.2f} / {mean[3]:.3f}",
             f"{mean[4]:,.0f}", "-" if name == first else f"{won} : {lost}"]
        )  # fmt: skip
    header = ["learner", "its mean", f"{first}, same records", "us a record", "won : lost"]
    return "\n\n".join(
        [
            "Accuracy in % and log loss in nats, every record predicted before it is learned, one "
            f"pass, defaults, the first {arguments.rows:,} records of each file.",
            results.table(
                ["file", "records", "majority / last label", *map(peers.title, names)], rows
            ),
            f"Means over the files. Won and lost: files on which {first} is the more or the less "
            "accurate, on the records that the other was given time for.",
            results.table(header, means),
            f"Probabilities below {FLOOR:g} are raised to it. Learners of this project get the "
            "text of the file as it is; `dropped` is the committee with numbers only. Peers get "
            "numbers as numbers and the rest as names. *: stopped after "
            f"{arguments.limit:g} s of processor time. us: CPU microseconds per record to predict "
            "and learn, one by one.",
        ]
    )


def folder_of_tables(text: str) -> Path:
    """Return the folder, or say what is wrong with it."""
    folder = Path(text)
    if not any(folder.glob("*.csv*")):
        raise ArgumentTypeError(f"{text!r} holds no csv file")
    return folder


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="unused")
    parser.add_argument(
        "--data", type=folder_of_tables, required=True, metavar="DIR", help="folder of CSV files"
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="names without .csv; none: all")
    parser.add_argument("--rows", type=options.at_least(1), default=ROWS)
    options.add_learners(parser, "committee,no-history,contexts")
    parser.add_argument(
        "--peers", type=options.names_from(PEERS), default="logreg,tree,bayes,vw,vw-pairs",
        help=f"comma-separated: {', '.join(PEERS)}; vw needs the package vowpalwabbit",
    )  # fmt: skip
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a peer may take a file")
    parser.add_argument("--no-dropped", dest="dropped", action="store_false")
    arguments = parser.parse_args()
    arguments.peers = [peer for peer in arguments.peers if available(peer)]
    there = sorted(arguments.data.glob("*.csv*"))
    wanted = arguments.files or [path.name.partition(".")[0] for path in there]
    arguments.paths = [path for path in there if path.name.partition(".")[0] in wanted]
    if len(arguments.paths) < len(set(wanted)):
        parser.error(f"not all there: {', '.join(wanted)}")
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    files = [load(path, arguments.rows) for path in arguments.paths]
    found = [measure(file, arguments) for file in files]
    title = "Records with text in them, taken as they are"
    results.publish("mixed", title, report(files, found, arguments), arguments.write)


if __name__ == "__main__":
    main()
