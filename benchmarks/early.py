"""The first records of streams: what is learned of 500, 1,000 and 2,000 of them.

Beside each stream stand the usual first choices of river, and the best of them, which is another
one on each stream and which nobody knows before.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from functools import partial
from statistics import mean

import drifting
import numpy as np
import options
import peers
import results
from river.datasets import synth
from river.datasets.base import SyntheticDataset
from scores import FLOOR, Pass, run_records
from streams import SHUFFLED, Stream, load_stream

COUNTS = (500, 1_000, 2_000)
#: Behind the best peer by more than so many points at the first count: said by name.
BEHIND = 2.0
DATA = (
    "segment",
    "phishing_stream",
    "keystroke",
    "electricity",
    "covtype",
    "magic04",
    "letter",
    "satimage",
    "pendigits",
    "svmguide1",
    "banana",
    "vowel",
    "tic_tac_toe",
    "balance_scale",
)
# Made by river: nothing drifts before the 2,000th record.
MADE: dict[str, SyntheticDataset] = {
    "random-tree": synth.RandomTree(seed_tree=1, seed_sample=1),
    "agrawal": drifting.agrawal(0),
    "sea": drifting.sea(0),
    "led": drifting.led(0),
    "rbf": drifting.rbf(0),
    "hyperplane": drifting.hyperplane(0),
}
QUICK = ("segment", "electricity", "letter", "random-tree", "agrawal")
PEERS = ("bayes", "tree", "softmax", "arf", "amf")

Figures = tuple[float, float]
#: Accuracy and log loss by stream, learner and count.
Found = dict[str, dict[str, dict[int, Figures]]]


def stream_of(name: str, arguments: Namespace) -> Stream:
    """Make or load a stream, its first records only."""
    rows = arguments.counts[-1]
    if name not in MADE:
        return load_stream(arguments.data, name, rows)
    columns, labels = zip(*((list(x.values()), y) for x, y in MADE[name].take(rows)), strict=True)
    return Stream(name, np.array(columns, dtype=np.float64), np.array(labels), None)


def figures(done: Pass, count: int) -> Figures:
    """Return accuracy and log loss over the first records."""
    truth = None if done.truth is None else done.truth[:count]
    first = done._replace(hits=done.hits[:count], truth=truth)
    return first.accuracy(), first.log_loss() or 0.0


def measure(name: str, arguments: Namespace) -> dict[str, dict[int, Figures]]:
    """Return what each learner did on a stream's first records."""
    stream = stream_of(name, arguments)
    classes = len(np.unique(stream.y))
    makers = {learner: partial(peers.ours, learner) for learner in arguments.learners}
    makers |= {peer: partial(peers.PEERS[peer], classes) for peer in arguments.peers}
    found = {}
    for learner, make in makers.items():
        done = run_records(make(), stream)
        found[learner] = {count: figures(done, count) for count in arguments.counts}
        cells = (f"{hits:.2f} / {loss:.3f}" for hits, loss in found[learner].values())
        print(name, learner, *cells, file=sys.stderr)
    return found


def best_of(found: dict[str, dict[int, Figures]], names: list[str], count: int) -> str:
    """Return the learner with the highest accuracy; of equals the one with less log loss."""
    return max(names, key=lambda one: (found[one][count][0], -found[one][count][1]))


def means(found: Found, arguments: Namespace) -> str:
    """Return the table of means, and of how often a learner beats or equals all peers."""
    rows = []
    for learner in [*arguments.learners, *arguments.peers]:
        row = [peers.title(learner)]
        for count in arguments.counts:
            for k in (0, 1):
                values = [one[learner][count][k] for one in found.values()]
                row.append(results.figure(mean(values), 2 + k))
            for k, sign in ((0, 1), (1, -1)):
                others = [peer for peer in arguments.peers if peer != learner]
                won = sum(
                    all(sign * (one[learner][count][k] - one[o][count][k]) >= 0 for o in others)
                    for one in found.values()
                )
                row.append(f"{won} of {len(found)}")
        rows.append(row)
    header = ["learner"]
    for count in arguments.counts:
        header += [f"first {count:,}: accuracy %", "log loss", "best in accuracy", "in log loss"]
    return results.table(header, rows)


def by_stream(found: Found, arguments: Namespace) -> str:
    """Return the table of streams: this project's learners, and the best peer."""
    rows = []
    for name, one in found.items():
        row = [name]
        for count in arguments.counts:
            for learner in [*arguments.learners, best_of(one, arguments.peers, count)]:
                hits, loss = one[learner][count]
                said = f" {learner}" if learner in arguments.peers else ""
                row.append(f"{hits:.1f} / {loss:.3f}{said}")
        rows.append(row)
    header = ["stream"]
    for count in arguments.counts:
        header += [f"{count:,}: {peers.title(learner)}" for learner in arguments.learners]
        header.append("best peer")
    return results.table(header, rows)


def behind(found: Found, arguments: Namespace) -> str:
    """Say where the first of this project's learners is far behind the best peer at first."""
    learner, count, said = arguments.learners[0], arguments.counts[0], []
    for name, one in found.items():
        best = best_of(one, arguments.peers, count)
        gap = one[best][count][0] - one[learner][count][0]
        if gap > BEHIND:
            said.append(f"{name} ({best} {gap:.1f})")
    where = ", ".join(said) or "nowhere"
    return (
        f"More than {BEHIND:g} points behind the best peer in the first {count:,} records: {where}."
    )


def report(found: Found, arguments: Namespace) -> str:
    """Return the tables, and what is to be said of them."""
    shuffled = ", ".join(name for name in found if name in SHUFFLED)
    note = (
        "Every record predicted before it is learned, one by one, with defaults; accuracy in % / "
        f"log loss in nats, probabilities below {FLOOR:g} raised to it. bayes: naive Bayes of "
        "Gaussians; tree: a Hoeffding tree; softmax: scaled logistic regression, softmax "
        "regression of more than two classes; arf, amf: forests of ten trees. Best: on how many "
        "streams no peer is better. Of a stream with fewer records, all."
    )
    if shuffled:
        note += f" Shuffled, since their order is no stream's: {shuffled}."
    return "\n\n".join(
        [means(found, arguments), behind(found, arguments), by_stream(found, arguments), note]
    )


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__, data="optional")
    parser.add_argument(
        "streams",
        nargs="*",
        metavar="STREAM",
        help=f"npz files of --data, or made by river: {', '.join(MADE)}",
    )
    options.add_learners(parser, "committee")
    options.add_peers(parser, ",".join(PEERS))
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"only the first {COUNTS[0]} records; unless named, of {', '.join(QUICK)}",
    )
    arguments = parser.parse_args()
    usual = QUICK if arguments.quick else (*DATA, *MADE)
    if arguments.data is None:
        usual = tuple(name for name in usual if name in MADE)
    arguments.streams = list(dict.fromkeys(arguments.streams or usual))
    arguments.counts = COUNTS[:1] if arguments.quick else COUNTS
    options.check_names(parser, arguments.data, arguments.streams, MADE)
    if not arguments.learners or not arguments.peers:
        parser.error("nothing to compare: name a learner and a peer")
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    found = {name: measure(name, arguments) for name in arguments.streams}
    results.publish("early", "The first records", report(found, arguments), arguments.write)


if __name__ == "__main__":
    main()
