"""Ten passes over a training set, then the test set: the protocol of the papers."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from statistics import mean, pstdev
from time import process_time
from typing import NamedTuple

import numpy as np
import options
import peers
import results
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from streams import PARTS, SPLITS, Split, has_standard_split, load_split

SEEDED_SPLITS = 5


class Outcome(NamedTuple):
    """Test accuracy of each run in %, and the CPU seconds that learning took on average."""

    accuracies: list[float]
    seconds: float

    def cell(self) -> str:
        """Return the mean, and the spread where there were several runs."""
        text = results.figure(mean(self.accuracies), 2)
        many = len(self.accuracies) > 1
        return f"{text} ± {pstdev(self.accuracies):.2f}" if many else text


def warm(learner: str, split: Split, arguments: Namespace, seed: int) -> tuple[float, float]:
    """Return test accuracy and learning CPU seconds of one of this project's learners."""
    sizes = {"n_anchors": arguments.anchors, "n_neighbors": arguments.neighbors}
    if not sizes.keys() <= peers.options_of(learner):
        sizes = {}
    model = peers.ours(learner, seed=seed, **sizes)
    begin = process_time()
    model.warm_start(split.X_train, split.y_train, epochs=arguments.epochs)
    seconds = process_time() - begin
    return accuracy(np.asarray(model.predict_many(split.X_test)), split), seconds


def kernel_svm(split: Split) -> tuple[float, float]:
    """Return test accuracy and tuning CPU seconds of SVC(rbf), tuned by 3-fold search."""
    # What scikit-learn calls gamma="scale", as a number that can be multiplied.
    scaled = StandardScaler().fit_transform(split.X_train.astype(np.float64))
    scale = 1 / (scaled.shape[1] * scaled.var())
    grid = {"svc__C": [1, 10, 100], "svc__gamma": [scale * step for step in (0.3, 1, 3)]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC(kernel="rbf")), grid, cv=3)
    begin = process_time()
    search.fit(split.X_train, split.y_train)
    seconds = process_time() - begin
    print(f"  SVC chose {search.best_params_}", file=sys.stderr)
    return accuracy(search.predict(split.X_test), split), seconds


def accuracy(labels: object, split: Split) -> float:
    """Return the percentage of test labels that are right."""
    return 100 * float(np.mean(np.asarray(labels) == split.y_test))


def measure(name: str, learner: str, folder: Path, arguments: Namespace) -> Outcome:
    """Run a learner on a data set as often as its split asks for."""
    fixed = has_standard_split(folder, name)
    # A fixed split and a fixed method leave nothing to repeat for SVC.
    runs = (1 if learner == "svc" else arguments.repeats) if fixed else SEEDED_SPLITS
    done = []
    for seed in range(runs):
        split = load_split(folder, name, seed)
        done.append(
            kernel_svm(split) if learner == "svc" else warm(learner, split, arguments, seed)
        )
        print(f"{name} {learner} seed {seed}: {done[-1][0]:.2f} %", file=sys.stderr)
    return Outcome([run[0] for run in done], mean(run[1] for run in done))


def read_arguments() -> Namespace:
    """Read the command line."""
    parser = options.parser(__doc__)
    parser.add_argument(
        "names", nargs="*", default=list(SPLITS), metavar="NAME", help="names of npz files"
    )
    options.add_learners(parser, "llsvm,sapl,committee")
    parser.add_argument(
        "--svc",
        default="letter,pendigits,satimage,magic04,banana_llsvm_split,segment,svmguide1,mnist_5000",
        help="data sets that SVC(rbf) is tuned on too, comma-separated; 'all'; may be empty",
    )
    parser.add_argument("--epochs", type=options.at_least(1), default=10, help="passes")
    parser.add_argument("--anchors", type=options.at_least(1), default=100, help="m")
    parser.add_argument("--neighbors", type=options.at_least(1), default=8, help="k")
    parser.add_argument(
        "--repeats", type=options.at_least(1), default=1, help="seeds where the split is given"
    )
    arguments = parser.parse_args()
    if arguments.svc == "all":
        arguments.svc = arguments.names
    else:
        arguments.svc = [name.strip() for name in arguments.svc.split(",") if name.strip()]
    options.check_names(parser, arguments.data, arguments.names, PARTS)
    for name in arguments.svc:
        if name not in (*arguments.names, *SPLITS):
            parser.error(f"--svc {name}: it is not among the data sets to measure")
    if not arguments.learners and not set(arguments.svc) & set(arguments.names):
        parser.error("nothing to measure: name a learner, or a data set for --svc")
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = read_arguments()
    tuned = set(arguments.svc) & set(arguments.names)
    learners = [*arguments.learners, *(["svc"] if tuned else [])]
    lines = []
    for name in arguments.names:
        cells = [name]
        for learner in learners:
            if learner == "svc" and name not in tuned:
                cells += ["-", "-"]
                continue
            outcome = measure(name, learner, arguments.data, arguments)
            cells += [outcome.cell(), results.figure(outcome.seconds)]
        lines.append(cells)
    header = ["data set"]
    for learner in learners:
        header += [f"{learner} accuracy %", "seconds"]
    note = (
        f"{arguments.epochs} passes by `warm_start`, m = {arguments.anchors}, k = "
        f"{arguments.neighbors}, all else by default. Standard splits where there is one; else "
        f"two thirds and one third by seeds 0 to {SEEDED_SPLITS - 1}: mean and standard deviation. "
        "svc: scikit-learn's SVC(rbf) over StandardScaler, C in 1, 10, 100 and gamma in 0.3, 1, 3 "
        "times 'scale' chosen by 3-fold search on the training set, its seconds with the search. "
        "Seconds are those of the processor. mnist_5000: the first 5,000 and 2,000 of mnist."
    )
    body = results.table(header, lines) + "\n\n" + note
    results.publish("warm-start", "Learning from history first", body, arguments.write)


if __name__ == "__main__":
    main()
