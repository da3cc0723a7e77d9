"""Learn a stream that comes with river, in the terminal, beside four simpler learners.

Every record is predicted first and learned afterwards, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from river import base, datasets, dummy, linear_model, multiclass, preprocessing

from stream_llsvm.cli.group import INTERRUPTED
from stream_llsvm.cli.mistakes import MistakeError, unknown
from stream_llsvm.learners.committee import CommitteeClassifier
from stream_llsvm.learners.sapl import SAPLClassifier

STREAMS: dict[str, Callable[[], Any]] = {
    "bananas": datasets.Bananas,
    "segments": datasets.ImageSegments,
    "phishing": datasets.Phishing,
}
SLICE = 50  # records between two looks at the screen


@dataclass
class Runner:
    """A learner, what it got right so far and the time it took."""

    name: str
    model: Any
    hits: int = 0
    seen: int = 0
    seconds: float = 0.0
    recent: list[bool] = field(default_factory=list)

    def step(self, x: dict[str, Any], y: Any) -> None:
        """Predict the record, be scored, learn it."""
        begin = perf_counter()
        answer = self.model.predict_one(x)
        self.model.learn_one(x, y)
        self.seconds += perf_counter() - begin
        self.hits += answer == y
        self.seen += 1
        self.recent = [*self.recent[-499:], answer == y]

    def cells(self) -> list[str]:
        """Return the learner's row of the table."""
        if not self.seen:
            return [self.name, "-", "-", "-"]
        micros = 1e6 * self.seconds / self.seen
        late = sum(self.recent) / len(self.recent)
        return [self.name, f"{self.hits / self.seen:.1%}", f"{late:.1%}", f"{micros:,.1f}"]


def runners(classes: int) -> list[Runner]:
    """Return the committee and the four it is shown beside."""
    linear: base.Classifier = linear_model.LogisticRegression()
    if classes > 2:
        linear = multiclass.OneVsRestClassifier(linear)
    # Compiling, or loading what was compiled before, is done here: the clock is on the learning.
    warm = CommitteeClassifier()
    warm.learn_one({"x": 0.0}, True)
    warm.predict_one({"x": 0.0})
    return [
        Runner("CommitteeClassifier", CommitteeClassifier()),
        Runner("SAPLClassifier", SAPLClassifier()),
        Runner("river: scaled logistic regression", preprocessing.StandardScaler() | linear),
        Runner("no change: the last label again", dummy.NoChangeClassifier()),
        Runner("majority class", dummy.PriorClassifier()),
    ]


def table(entrants: list[Runner], title: str) -> Table:
    """Return the scores so far as a table."""
    drawn = Table(title=title, title_justify="left")
    drawn.add_column("learner", no_wrap=True)
    for name in ("accuracy", "last 500", "us/record"):
        drawn.add_column(name, justify="right", no_wrap=True)
    for i, entrant in enumerate(entrants):
        drawn.add_row(*entrant.cells(), style="bold" if i == 0 else "")
    return drawn


def learn(records: list[Any], entrants: list[Runner], pace: float) -> Iterator[int]:
    """Step every learner through the records; yield how many are done, now and then."""
    begin = perf_counter()
    for done, (x, y) in enumerate(records, 1):
        for entrant in entrants:
            entrant.step(x, y)
        if done % SLICE == 0 or done == len(records):
            if pace:
                sleep(max(0.0, begin + done / pace - perf_counter()))
            yield done


def show(console: Console, records: list[Any], entrants: list[Runner], pace: float) -> None:
    """Run the race on the screen, or line by line where there is no screen."""
    progress = Progress(TextColumn("learning"), BarColumn(), MofNCompleteColumn(), console=console)
    task = progress.add_task("", total=len(records))
    if console.is_terminal:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            for done in learn(records, entrants, pace):
                progress.update(task, completed=done)
                drawn: RenderableType = Group(progress, table(entrants, "so far"))
                live.update(drawn, refresh=True)
        return
    told = 0
    for done in learn(records, entrants, 0.0):
        if done * 5 // len(records) > told:
            told = done * 5 // len(records)
            scores = ", ".join(f"{entrant.name} {entrant.cells()[1]}" for entrant in entrants)
            print(f"{done:>6,} of {len(records):,} records: {scores}", flush=True)


def demonstrate(stream: str, pace: float) -> int:
    """Run the demo; return the exit code."""
    if stream not in STREAMS:
        raise MistakeError(f"--stream: {unknown('stream', stream, STREAMS)}")
    console = Console()
    records = list(STREAMS[stream]())
    entrants = runners(len({y for _, y in records}))
    print(f"{stream}: {len(records):,} records, each predicted, then learned, once", flush=True)
    code = 0
    try:
        show(console, records, entrants, pace)
    except KeyboardInterrupt:
        code = INTERRUPTED
    console.print(table(entrants, f"{stream}, {entrants[0].seen:,} records"))
    return code
