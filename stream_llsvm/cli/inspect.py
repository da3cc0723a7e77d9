"""``stream-llsvm inspect``: what is in a model file or a checkpoint."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_llsvm.cli.errors import MistakeError, listed, nearest, one_line, put
from stream_llsvm.cli.options import JSON, SAVED, TRUST

if TYPE_CHECKING:
    from stream_llsvm.engine.census import Census
    from stream_llsvm.engine.progress import Progress
    from stream_llsvm.model.explain import MemberReport

EXAMPLE = "stream-llsvm inspect checkpoints/"

_WIDTH = 96
_MEMBERS = 8


def command(path: SAVED, json: JSON = False, trust_pickle: TRUST = False) -> int:
    """Look into a file."""
    return inspect(path, as_json=json, trust_pickle=trust_pickle)


def inspect(name: str, *, as_json: bool, trust_pickle: bool = False) -> int:
    """Print what the file holds."""
    from stream_llsvm.cli.terminal import print_json

    saved = read_saved(name, trust_pickle=trust_pickle)
    if as_json:
        print_json(_everything(saved))
    else:
        path, *lines = described(saved)
        put(path)
        for line in lines:
            put(line if len(line) <= _WIDTH else line[: _WIDTH - 3] + "...")
    return 0


def described(saved: Saved) -> list[str]:
    """Return a few lines."""
    from stream_llsvm.cli import columns
    from stream_llsvm.learners.pipeline import learner_in

    model, kept = saved.own, saved.checkpoint
    what = "a checkpoint" if kept is not None else "a model"
    size = saved.path.stat().st_size
    lines = [f"{what}, {size / 1e6:,.1f} MB: {saved.path}"]
    lines.append(f"written   {_when(saved)}, by stream_llsvm {saved.version}")
    lines += [f"  passed over: {text}" for text in saved.skipped[:3]]
    if saved.before:
        lines.append(f"behind    {' | '.join(saved.before)}")
    options = "..." if model is None else ", ".join(
        f"{key}={value!r}" for key, value in _options(model).items()
    )  # fmt: skip
    made = f"{type(learner_in(saved.model)).__name__}({options})"
    lines += textwrap.wrap(made, _WIDTH, subsequent_indent="  ", max_lines=4, placeholder=" ...")
    if model is not None:
        lines.append(f"features  {len(model.features):,}: {listed(model.features)}")
        if hasattr(model, "n_keys"):
            lines.append(f"keys      {model.n_keys:,}, by {model.key!r}")
        if (classes := _classes(model)) is not None:
            lines.append(f"labels    {len(classes):,}: {listed(classes)}")
    if kept is not None:
        lines += columns.lines(_census(kept).fields())
        lines += _progress(kept, scored(saved))
        lines += _beside(saved)
    return lines + ([] if model is None else _members(model))


def _census(kept: dict[str, Any]) -> Census:
    """Return what the columns of a run were taken for; an older version did not count it."""
    from stream_llsvm.engine.census import Census

    census = Census()
    census.restore(kept.get("fields", {}))
    return census


def _written(saved: Saved) -> datetime:
    """Return when the file was written: a checkpoint says so, a model's file was changed then."""
    stated = None if saved.checkpoint is None else saved.checkpoint.get("time")
    at = saved.path.stat().st_mtime if stated is None else stated
    return datetime.fromtimestamp(at).astimezone()


def _when(saved: Saved) -> str:
    at = _written(saved)
    ago = max(0.0, (datetime.now(UTC) - at).total_seconds())
    return f"{at:%Y-%m-%d %H:%M:%S %z}, {_duration(ago)} ago"


def _duration(seconds: float) -> str:
    """Return a duration in the two largest units that are not nothing.

    Examples
    --------
    >>> _duration(93_784), _duration(65), _duration(0.4)
    ('1 d 2 h', '1 min 5 s', '0 s')

    """
    rest, parts = int(seconds), list[str]()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        number, rest = divmod(rest, size)
        if number or (unit == "s" and not parts):
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


def _options(model: Any) -> dict[str, Any]:
    """Return what a model was made with; of a model for each key with its global model's."""
    keyed = hasattr(model, "n_keys")
    options: dict[str, Any] = model._saved_params() if keyed else model._get_params()
    return options


def _classes(model: Any) -> Sequence[Any] | None:
    """Return the labels that a model knows, None of one that learns numbers."""
    from stream_llsvm.learners.numbers import NumberLearner

    return None if isinstance(model, NumberLearner) else list(model.classes)


def scored(saved: Saved) -> Progress:
    """Return what a checkpoint's run had come to."""
    from stream_llsvm.engine.progress import Progress
    from stream_llsvm.engine.task import task_of

    progress = Progress(1, None, task_of(saved.model))
    if saved.checkpoint is not None:
        progress.restore(saved.checkpoint["progress"])
    return progress


def _progress(kept: dict[str, Any], progress: Progress) -> list[str]:
    from stream_llsvm.engine.scores import baselines, main_scores

    counts, rejected = kept["progress"]["counts"], kept["rejected"]
    lines = [
        f"records   {counts['records']:,}, {counts['learned']:,} learned, "
        f"{counts['predicted']:,} predicted, {sum(rejected.values()):,} rejected, "
        f"{counts['drifts']:,} drifts"
    ]
    if "seconds" in kept["progress"]:
        lines.append(f"run for   {_duration(kept['progress']['seconds'])}")
    if rejected:
        lines.append(f"rejected  {listed(f'{why}: {n:,}' for why, n in rejected.items())}")
    lines.append(f"position  {_stands(kept['position'])}")
    if kept["late"] is not None:
        waiting = kept["late"]["waiting"]
        lines.append(
            f"waiting   {len(waiting['records']):,} records for their labels, "
            f"{len(waiting['labels']):,} labels for their records"
        )
    some = [*main_scores(progress.task), baselines(progress.task)[0]]
    for view, values in progress.scores.report().items():
        told = ", ".join(f"{s.title} {s.text(values[s.name])}" for s in some if s.name in values)
        lines.append(f"{view:<12}{told}")
    return lines


def _beside(saved: Saved) -> list[str]:
    """Return what a checkpoint is called, and which models learn beside."""
    from stream_llsvm.engine.checkpoints import names_in, number_in

    number, kept = number_in(saved.path), saved.checkpoint
    names = [name for name, of in names_in(saved.path.parent).items() if of == number]
    lines = [f"kept as   {listed(names)}"] if names else []
    beside = (kept or {}).get("challengers") or {"all": {}, "champion": ""}
    if beside["all"]:
        lines.append(f"champion  {beside['champion']}, beside {listed(beside['all'])}")
    return lines


def _stands(position: dict[str, Any] | None) -> str:
    """Return in words where a source stood."""
    if not position:
        return "at the beginning"
    from stream_llsvm.connectors.registry import describe

    known = describe(position)
    if known is not None:
        return known
    return listed(f"{name} {value}" for name, value in position.items())


def _mixture(model: Any) -> Sequence[MemberReport]:
    return getattr(model, "mixture", ())


def _members(model: Any) -> list[str]:
    reports = _mixture(model)
    if len(reports) < 2:
        return []
    lines = ["member         accuracy  log loss   worth"]
    for one in sorted(reports, key=lambda report: -report.worth)[:_MEMBERS]:
        asleep = "" if one.awake else "  asleep"
        lines.append(
            f"  {one.name:<12} {one.accuracy:>8.2%} {one.log_loss:>9.4f} {one.worth:>7.4f}{asleep}"
        )
    more = len(reports) - _MEMBERS
    return lines + ([f"  and {more} more"] if more > 0 else [])


def _everything(saved: Saved) -> dict[str, Any]:
    from stream_llsvm.learners.pipeline import learner_in

    model, kept = saved.own, saved.checkpoint
    found: dict[str, Any] = {
        "path": str(saved.path),
        "written": _written(saved).isoformat(),
        "version": saved.version,
        "class": type(learner_in(saved.model)).__name__,
        "behind": saved.before,
    }
    if model is not None:
        found |= {
            "options": _options(model),
            "features": list(map(str, model.features)),
            "labels": _classes(model) or [],
            "members": [
                {"name": m.name, "accuracy": m.accuracy, "log_loss": m.log_loss, "worth": m.worth}
                for m in _mixture(model)
            ],
        }
    if kept is not None:
        late = kept["late"]
        beside = kept.get("challengers") or {"champion": None, "all": {}}
        found |= {
            "champion": beside["champion"],
            "challengers": list(beside["all"]),
            "position": kept["position"],
            "columns": _census(kept).report(),
            "counts": kept["progress"]["counts"],
            "seconds": kept["progress"].get("seconds"),
            "rejected": kept["rejected"],
            "scores": scored(saved).scores.report(),
            "waiting": None if late is None else len(late["waiting"]["records"]),
        }
    return found


class Saved(NamedTuple):
    """What was read: the model, its file's version, and the checkpoint if it is one."""

    path: Path
    model: Any
    version: str
    checkpoint: dict[str, Any] | None
    skipped: list[str]

    @property
    def own(self) -> Any:
        """The learner itself, None if it is none of this package's."""
        from stream_llsvm.learners.pipeline import is_own, learner_in

        found = learner_in(self.model)
        return found if is_own(found) else None

    @property
    def key(self) -> str | None:
        """The column that says whose a record is, None if there is one model for all."""
        key = getattr(self.own, "key", None)
        return key if isinstance(key, str) else None

    @property
    def before(self) -> list[str]:
        """What stands before it in a pipeline."""
        from stream_llsvm.learners.pipeline import is_pipeline

        return list(map(str, self.model.steps.values()))[:-1] if is_pipeline(self.model) else []


def read_saved(name: str, *, trust_pickle: bool = False) -> Saved:
    """Return what the file holds; of a folder, the newest checkpoint that can be read."""
    from stream_llsvm.model.file import ModelFileError

    path = Path(name)
    if path.is_dir():
        return _newest(path, trust_pickle)
    if not path.exists():
        names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        like = nearest(path.name, names)
        hint = f"; did you mean {path.with_name(like)}?" if like else ""
        raise MistakeError(f"{path}: there is no such file{hint}")
    try:
        return _read(path, [], trust_pickle)
    except (ModelFileError, OSError) as error:
        raise MistakeError(f"{path}: {_why(path, error)}") from None


def _newest(folder: Path, trust_pickle: bool) -> Saved:
    from stream_llsvm.model.file import ModelFileError

    # Read without the lock: looking into a folder does not disturb the run that writes there.
    skipped: list[str] = []
    for path in sorted(folder.glob("checkpoint-*.llsvm"), reverse=True):
        try:
            return _read(path, skipped, trust_pickle)
        except (ModelFileError, OSError) as error:
            skipped.append(f"{path.name}: {_why(path, error)}")
    why = f" that can be read ({skipped[0]})" if skipped else ""
    raise MistakeError(f"{folder}: there is no checkpoint in it{why}")


def _why(path: Path, error: BaseException) -> str:
    """Return what is wrong, without the path that some of these texts begin with."""
    return one_line(error).removeprefix(f"{path}: ")


def _read(path: Path, skipped: list[str], trust_pickle: bool) -> Saved:
    from stream_llsvm.engine.checkpoints import read_checkpoint
    from stream_llsvm.engine.resume import contents_of
    from stream_llsvm.learners.load import from_payload

    payload = read_checkpoint(path)
    checkpoint = payload if "model" in payload and "progress" in payload else None
    if checkpoint is None:
        model = from_payload(payload, trust_pickle=trust_pickle)
    else:
        model = contents_of(payload, trust_pickle=trust_pickle).model
    saved: dict[str, Any] = payload if checkpoint is None else payload["model"]
    version = str(saved.get("version", "before 0.1.0"))
    return Saved(path, model, version, checkpoint, skipped)
