"""Texts as dicts of counts, beside river's logistic regression on the same dicts.

Streams are drawn with a seed (zipf, topics, names), or read from files: svmlight; CSV, gzip or not,
whose texts are taken apart into words, the label in the column `label`; a sparse matrix in npz.
"""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time, thread_time
from typing import Any, NamedTuple

import numpy as np
import options
import peers
import results
from river import linear_model, multiclass, naive_bayes
from scores import RecordLearner
from text_streams import DRAWN, Texts, read

FLOOR = 1e-4
WARM = 200
#: A member alone, to see that the whole is not below it.
ALONE = "words alone"


class Done(NamedTuple):
    """One learner on one stream: means, and what it takes."""

    accuracy: float
    log_loss: float
    #: Of processor time, a record and the slowest record.
    micros: float
    slowest: float
    bytes_a_name: float | None


def logistic_regression(classes: int) -> Any:
    """Return river's logistic regression."""
    model: Any = linear_model.LogisticRegression()
    return multiclass.OneVsRestClassifier(model) if classes > 2 else model


def bayes(classes: int) -> Any:
    """Return river's naive Bayes for counts."""
    return naive_bayes.MultinomialNB()


PEERS: dict[str, Callable[[int], Any]] = {"river LR": logistic_regression, "river NB": bayes}


def made(name: str, classes: int) -> Any:
    """Return a fresh learner."""
    if name == ALONE:
        return peers.ours("committee", members=("words",))
    return PEERS[name](classes) if name in PEERS else peers.ours(name)


def run(model: RecordLearner, texts: Texts) -> Done:
    """Predict and learn record by record."""
    n = len(texts.labels)
    hits, truth = np.zeros(n, dtype=np.bool_), np.zeros(n)
    slowest, spent = 0.0, process_time()
    for i, (x, y) in enumerate(zip(texts.records, texts.labels, strict=True)):
        begin = thread_time()
        answer = model.predict_proba_one(x)
        model.learn_one(x, y)
        slowest = max(slowest, thread_time() - begin)
        if answer:
            hits[i], truth[i] = max(answer, key=answer.__getitem__) == y, answer.get(y, 0.0)
    spent = process_time() - spent
    state = getattr(model, "_state", None)
    held = None if state is None else state.n_bytes / max(1, len(getattr(model, "features", ())))
    loss = float(-np.mean(np.log(np.maximum(truth, FLOOR))))
    return Done(100 * float(hits.mean()), loss, 1e6 * spent / n, 1e3 * slowest, held)


def warmed(name: str, texts: Texts) -> None:
    """Let a learner compile or load what it needs; how long that takes is measured elsewhere."""
    n = min(WARM, len(texts.labels))
    run(made(name, 3), Texts(texts.name, texts.records[:n], texts.labels[:n]))


def measure(texts: Texts, learners: Sequence[str]) -> dict[str, Done]:
    """Return what each learner does on a stream."""
    classes = len(set(texts.labels))
    # Of two classes some of river's know only true and false.
    plain = texts._replace(labels=[y == texts.labels[0] for y in texts.labels])
    found = {}
    for name in learners:
        same = plain if classes == 2 and name in PEERS else texts
        warmed(name, texts)
        found[name] = done = run(made(name, classes), same)
        print(f"{texts.name:14} {name:12} {done.accuracy:6.2f} % {done.micros:8.1f} us", flush=True)
    return found


def report(streams: Sequence[tuple[Texts, dict[str, Done]]], note: str) -> str:
    """Return the table and what its columns mean."""
    rows = []
    for texts, found in streams:
        river = found.get("river LR")
        shown = f"{texts.name}, {len(texts.labels):,} records, {texts.words():,} words"
        for name, done in found.items():
            held = done.bytes_a_name
            rows.append(
                [
                    shown,
                    name,
                    f"{done.accuracy:.2f}",
                    f"{done.log_loss:.3f}",
                    f"{done.micros:,.0f}",
                    "-" if river is None else f"{done.micros / river.micros:.1f}x",
                    results.figure(held, 0),
                    f"{done.slowest:.0f}",
                ]
            )
            shown = ""
    header = (
        "stream", "learner", "accuracy %", "log loss", "us a record", "to river LR",
        "bytes a name", "slowest record, ms",
    )  # fmt: skip
    return results.table(header, rows) + "\n\n" + note


def stream(text: str) -> str:
    """Return the name of a stream or of a file, or say what is wrong with it."""
    if text not in DRAWN and not Path(text).is_file():
        raise ArgumentTypeError(f"{text!r} is neither a file nor one of {', '.join(DRAWN)}")
    return text


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="unused")
    parser.add_argument(
        "streams", nargs="*", type=stream, default=list(DRAWN), metavar="STREAM",
        help=f"{', '.join(DRAWN)}, or a file",
    )  # fmt: skip
    parser.add_argument("--rows", type=options.at_least(1), help="only the first of each")
    options.add_learners(parser, "committee,sapl")
    parser.add_argument("--no-alone", dest="alone", action="store_false", help=f"without {ALONE}")
    parser.add_argument(
        "--peers", type=options.names_from(PEERS), default=",".join(PEERS),
        help=f"comma-separated: {', '.join(PEERS)}",
    )  # fmt: skip
    return parser.parse_args()


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    learners = [*arguments.peers, *arguments.learners, *([ALONE] if arguments.alone else [])]
    found = []
    for name in arguments.streams:
        rows = arguments.rows
        texts = DRAWN[name](rows) if name in DRAWN else read(Path(name), rows)
        found.append((texts, measure(texts, learners)))
    note = (
        "Every record predicted before it is learned, one pass, defaults, all words unknown at "
        "first. us: microseconds of processor time a record, `predict_proba_one` and `learn_one`; "
        "beside it how many times as long as river's LogisticRegression takes in the same run; the "
        "slowest record is one that the model or its dict of names grows with. "
        "Bytes a name are all of the model's arrays, shared out among the names it knows."
    )
    results.publish("text", "Texts as words", report(found, note), arguments.write)


if __name__ == "__main__":
    main()
