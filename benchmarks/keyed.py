"""A model for each key beside the one model in it: how often each is right, and what keys cost.

Without `--data` a synthetic stream only: customers who differ, some of whom come often. With it
also streams of its files by a key of theirs, and, if it has a folder `mixed` of CSV files, some of
those. The global model is the same in both: it does not see the key, and hears of no correction.
"""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import options
import peers
import results
from numpy.typing import NDArray

from stream_llsvm import Engine, KeyedClassifier
from stream_llsvm.connectors import FileSource
from stream_llsvm.engine.learner import Learner
from stream_llsvm.model import file as model_file
from stream_llsvm.model.bank import Ages
from stream_llsvm.records.keys import Key

BLOCK = 1_000
ROWS, CUSTOMERS, FEATURES = 300_000, 5_000, 22
KEYS = (10_000, 100_000, 1_000_000)
ROUNDS, BLOCKS = 9, 20
CHANGED = 50_000
#: CSV files, the field that is the key, and what that is.
MIXED = (
    ("movielens", "user", "users"),
    ("movielens", "item", "films"),
    ("airlines", "Airline", "carriers"),
    ("airlines", "From", "airports"),
    ("amazon", "MGR_ID", "managers"),
)


class Keyed(NamedTuple):
    """A stream whose records have keys."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    keys: NDArray[np.int64]


def synthetic(rows: int, customers: int = CUSTOMERS, seed: int = 3) -> Keyed:
    """Return customers who weigh features in their own way, and come as often as Zipf has it."""
    rng = np.random.default_rng(seed)
    often = 1 / np.arange(1, customers + 1) ** 0.8
    keys = rng.choice(customers, rows, p=often / often.sum())
    X = rng.normal(size=(rows, FEATURES))
    shared = 1.5 * rng.normal(size=FEATURES) / np.sqrt(FEATURES)
    own = 0.7 * 1.5 * rng.normal(size=(customers, FEATURES)) / np.sqrt(FEATURES)
    usual = 0.6 * rng.normal(size=customers)
    score = X @ shared + (X * own[keys]).sum(axis=1) + usual[keys]
    score += 0.8 * np.tanh(2 * X[:, 0] * X[:, 1])
    y = 1 / (1 + np.exp(-3 * score)) > rng.random(rows)
    return Keyed("synthetic, 5,000 customers", X, y.astype(np.int64), keys.astype(np.int64))


def from_files(folder: Path) -> Iterator[Keyed]:
    """Yield Covertype by soil and area, in two orders and with few classes and more, and others."""
    with np.load(folder / "covtype.npz", allow_pickle=False) as data:
        X, y = data["X"].astype(np.float64), data["y"].astype(np.int64)
    places = 4 * X[:, 14:54].argmax(axis=1) + X[:, 10:14].argmax(axis=1)
    shuffled = np.random.default_rng(0).permutation(len(X))[:100_000]
    by_place = "covtype by soil and area"
    yield Keyed(
        f"{by_place}, shuffled, 2 classes",
        X[shuffled, :10],
        (y[shuffled] == 1) * 1,
        places[shuffled],
    )
    yield Keyed(f"{by_place}, shuffled, 7 classes", X[shuffled, :10], y[shuffled], places[shuffled])
    first = slice(0, 100_000)
    yield Keyed(f"{by_place}, in order, 7 classes", X[first, :10], y[first], places[first])
    with np.load(folder / "electricity.npz", allow_pickle=False) as data:
        X, y = data["X"].astype(np.float64), data["y"].astype(np.int64)
    for column, what in ((1, "day"), (2, "half hour")):
        keys = np.unique(X[:, column], return_inverse=True)[1]
        yield Keyed(f"electricity by {what}", X, y, keys)


def learned(stream: Keyed, model: Any, rows: int | None) -> tuple[int, list[Ages]]:
    """Return how many keys came, and how answers did by how often theirs had come before."""
    key = stream.X.shape[1]
    keyed = KeyedClassifier(model, key=key)
    X = np.column_stack([stream.X, stream.keys])[:rows]
    for first in range(0, len(X), BLOCK):
        keyed.learn_many(
            X[first : first + BLOCK], stream.y[first : first + BLOCK][: len(X) - first]
        )
    return keyed.n_keys, keyed.ages


def read_and_learned(path: Path, key: str, model: Any, rows: int | None) -> tuple[int, list[Ages]]:
    """Do the same with a CSV file, as it is."""
    keyed = KeyedClassifier(model, key=key)
    source = FileSource([path], label="label", key=key)
    Engine(source, keyed, detector=None).run(rows)
    source.close()
    return keyed.n_keys, keyed.ages


def accuracies(name: str, what: str, keys: int, ages: list[Ages]) -> list[str]:
    """Return a line of the table: both, the difference, and that by age of the key."""
    answers = sum(age.answers for age in ages)
    alone = 100 * sum(age.model_right for age in ages) / answers
    both = 100 * sum(age.right for age in ages) / answers
    bands = [(0, 1), (1, 5), (5, 8), (8, len(ages))]  # 0, 1-15, 16-127 and more records
    gains = []
    for begin, end in bands:
        some = ages[begin:end]
        seen = sum(age.answers for age in some)
        gain = sum(age.right - age.model_right for age in some)
        gains.append(f"{100 * gain / seen:+.2f}" if seen else "-")
    figures = [f"{alone:.2f}", f"{both:.2f}", f"{both - alone:+.2f}"]
    return [name, what, f"{keys:,}", f"{answers:,}", *figures, *gains]


def accuracy_table(arguments: Namespace) -> str:
    """Return the table of accuracies."""
    lines: list[list[str]] = []
    streams = [synthetic(arguments.rows or ROWS)]
    if arguments.data is not None:
        streams += from_files(arguments.data)
    for stream in streams:
        for learner in arguments.learners:
            made = learned(stream, peers.ours(learner), arguments.rows)
            lines.append(accuracies(stream.name, peers.title(learner), *made))
            print(*lines[-1], sep="  ", flush=True)
    for name, key, what in MIXED:
        path = Path(arguments.data or "") / "mixed" / f"{name}.csv.gz"
        if arguments.data is None or not path.exists():
            continue
        for learner in arguments.learners:
            made = read_and_learned(path, key, peers.ours(learner), arguments.rows)
            lines.append(accuracies(f"{name} by {what}", peers.title(learner), *made))
            print(*lines[-1], sep="  ", flush=True)
    head = ("stream", "global model", "keys", "records", "alone", "with keys", "gain",
            "gain at 0", "1-15", "16-127", "128 and more")  # fmt: skip
    return results.table(head, lines)


def names_of(keys: NDArray[np.int64]) -> list[Key]:
    """Return keys as texts, which nobody has seen before, as a source reads them."""
    return [f"customer-{key}" for key in keys.tolist()]


def price(keys: int) -> list[str]:
    """Return what a record costs with so many keys over the same model without, and how large."""
    rng = np.random.default_rng(0)
    names = tuple(f"f{i}" for i in range(FEATURES))
    X, y = rng.normal(size=(BLOCK, FEATURES)), rng.integers(0, 2, BLOCK).tolist()
    model = KeyedClassifier(peers.ours("sapl"), key="customer")
    keyed, alone = Learner(model), Learner(peers.ours("sapl"))
    order = rng.permutation(keys)
    for first in range(0, keys, BLOCK):
        part = names_of(order[first : first + BLOCK])
        keyed.block(names, X[: len(part)], y[: len(part)], keys=part)
    alone.block(names, X, y)
    found = []
    for kind in ("uniform", "zipf"):
        over = []
        for _ in range(ROUNDS):
            seconds = [0.0, 0.0]
            for _ in range(BLOCKS):
                draw = rng.integers(0, keys, BLOCK) if kind == "uniform" else (
                    np.minimum(rng.zipf(1.1, BLOCK), keys) - 1
                )  # fmt: skip
                part = names_of(draw)
                begin = process_time()
                keyed.block(names, X, y, keys=part)
                between = process_time()
                alone.block(names, X, y)
                seconds[0] += between - begin
                seconds[1] += process_time() - between
            over.append(1e6 * (seconds[0] - seconds[1]) / (BLOCKS * BLOCK))
        found.append(f"{median(over):.2f}")
    bank, since = model._bank, model._bank.taught
    for _ in range(CHANGED // BLOCK):
        keyed.block(names, X, y, keys=names_of(rng.integers(0, keys, BLOCK)))
    per_key = (bank.matrix[0].nbytes + bank.facts[0].nbytes) if len(bank.keys) else 0
    files = [*written(model, None), *written(model, since)]
    return [f"{keys:,}", *found, f"{per_key}", *files]


def written(model: KeyedClassifier, since: int | None) -> list[str]:
    """Return the milliseconds that a file of keys costs, and its megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.llsvm"
        begin = process_time()
        rows = model._bank.rows(since)
        model_file.write(path, {"rows": rows.payload()})
        return [f"{1e3 * (process_time() - begin):.0f}", f"{path.stat().st_size / 1e6:.1f}"]


def spilled_price(kept: int) -> list[str]:
    """Return what a record costs if a tenth, or a half, of so many keys are in memory."""
    rng = np.random.default_rng(0)
    names = tuple(f"f{i}" for i in range(FEATURES))
    X, y = rng.normal(size=(BLOCK, FEATURES)), rng.integers(0, 2, BLOCK).tolist()
    with tempfile.TemporaryDirectory() as folder:
        models = [KeyedClassifier(peers.ours("sapl"), key="customer")]
        for share in (2, 10):
            bound = max(1, kept // share)
            models.append(
                KeyedClassifier(
                    peers.ours("sapl"), key="customer", max_keys=bound, spill=Path(folder)
                )
            )
        learners = list(map(Learner, models))
        order = rng.permutation(kept)
        for first in range(0, kept, BLOCK):
            part = names_of(order[first : first + BLOCK])
            for learner in learners:
                learner.block(names, X[: len(part)], y[: len(part)], keys=part)
        figures = []
        for kind in ("uniform", "zipf"):
            taken = np.zeros((ROUNDS, len(learners)))
            for i in range(ROUNDS):
                for _ in range(BLOCKS):
                    draw = rng.integers(0, kept, BLOCK) if kind == "uniform" else (
                        np.minimum(rng.zipf(1.1, BLOCK), kept) - 1
                    )  # fmt: skip
                    part = names_of(draw)
                    for which, learner in enumerate(learners):
                        begin = process_time()
                        learner.block(names, X, y, keys=part)
                        taken[i, which] += process_time() - begin
            figures += [f"{each:.2f}" for each in 1e6 * np.median(taken, axis=0) / BLOCKS / BLOCK]
        assert all(model.n_keys == kept for model in models)
    return [f"{kept:,}", *figures]


def spilled_table(arguments: Namespace) -> str:
    """Return the table of what it costs if not all keys are in memory."""
    head = ("keys", "us a record, keys uniform, all in memory", "half spilled", "nine tenths",
            "as Zipf, all in memory", "half spilled", "nine tenths")  # fmt: skip
    return results.table(head, [spilled_price(n) for n in KEYS if n <= arguments.most_keys])


def price_table(arguments: Namespace) -> str:
    """Return the table of what keys cost."""
    head = ("keys", "us a record over the model, keys uniform", "as Zipf", "bytes a key",
            "file of all: ms", "MB", f"of what {CHANGED:,} records changed: ms", "MB")  # fmt: skip
    return results.table(head, [price(keys) for keys in KEYS if keys <= arguments.most_keys])


NOTE = (
    "Each record is predicted before it is learned; alone is the global model, whose answers do "
    "not hang on keys; the last columns say what keys add in points where a key had had so many "
    "records. Prices are of SAPL over 22 features and two classes in batches of 1,000, as a run "
    "learns them, in CPU time, both models in turn, medians of rounds. The last table is of whole "
    "records, with SAPL: keys that are not in memory are in a database on disk (`spill`)."
)


def main() -> None:
    """Measure what the command line asks for."""
    parser = options.parser(__doc__, data="optional")
    options.add_learners(parser, "committee,sapl")
    parser.add_argument("--rows", type=options.at_least(1), help="only the first rows of each")
    parser.add_argument("--most-keys", type=options.at_least(1), default=KEYS[-1], help="of prices")
    arguments = parser.parse_args()
    tables = (accuracy_table, price_table, spilled_table)
    body = "\n\n".join([*(table(arguments) for table in tables), NOTE])
    results.publish("keyed", "A model for each key", body, arguments.write)


if __name__ == "__main__":
    main()
