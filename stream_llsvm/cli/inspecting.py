"""Say what is in a model file or a checkpoint, on less than a screen."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime
from typing import Any

from stream_llsvm.cli.mistakes import listed
from stream_llsvm.cli.saved import Saved, read_saved
from stream_llsvm.cli.telling import print_json
from stream_llsvm.engine.scores import Scores
from stream_llsvm.learners.base import LocalClassifier

_WIDTH = 96
_MEMBERS = 8
_SCORES = (
    ("accuracy", "accuracy"),
    ("kappa", "kappa"),
    ("macro F1", "macro_f1"),
    ("log loss", "log_loss"),
    ("majority", "majority"),
)


def inspect(name: str, *, as_json: bool) -> int:
    """Print what the file holds."""
    saved = read_saved(name)
    if as_json:
        print_json(_everything(saved))
    else:
        path, *lines = described(saved)
        print(path)
        for line in lines:
            print(line if len(line) <= _WIDTH else line[: _WIDTH - 3] + "...")
    return 0


def described(saved: Saved) -> list[str]:
    """Return a few lines."""
    model, kept = saved.model, saved.checkpoint
    what = "a checkpoint" if kept is not None else "a model"
    size = saved.path.stat().st_size
    lines = [f"{what}, {size / 1e6:,.1f} MB: {saved.path}"]
    lines.append(f"written   {_when(saved)}, by stream_llsvm {saved.version}")
    lines += [f"  passed over: {text}" for text in saved.skipped[:3]]
    options = ", ".join(f"{key}={value!r}" for key, value in model._get_params().items())
    made = f"{type(model).__name__}({options})"
    lines += textwrap.wrap(made, _WIDTH, subsequent_indent="  ", max_lines=4, placeholder=" ...")
    lines.append(f"features  {len(model.features):,}: {listed(model.features)}")
    lines.append(f"labels    {len(model.classes):,}: {listed(model.classes)}")
    if kept is not None:
        lines += _progress(kept)
    return lines + _members(model)


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


def _progress(kept: dict[str, Any]) -> list[str]:
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
    scores = Scores.restored(kept["progress"]["scores"]).report(len(kept["progress"]["classes"]))
    for view, values in scores.items():
        told = ", ".join(f"{name} {values[key]:.4f}" for name, key in _SCORES if key in values)
        lines.append(f"{view:<12}{told}")
    return lines


def _stands(position: dict[str, Any] | None) -> str:
    """Return in words where a source stood."""
    if not position:
        return "at the beginning"
    if "path" in position:
        place = f"line {position['line']:,}" if "line" in position else "its beginning"
        place = f"record {position['record']:,}" if "record" in position else place
        return f"behind {place} of {position['path']}"
    if all(isinstance(parts, dict) for parts in position.values()):
        offsets = (f"{t}/{p}@{n}" for t, parts in position.items() for p, n in parts.items())
        return f"before {listed(offsets)}"
    return listed(f"{name} {value}" for name, value in position.items())


def _members(model: LocalClassifier) -> list[str]:
    reports = model.mixture
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
    model, kept = saved.model, saved.checkpoint
    found: dict[str, Any] = {
        "path": str(saved.path),
        "written": _written(saved).isoformat(),
        "version": saved.version,
        "class": type(model).__name__,
        "options": model._get_params(),
        "features": list(map(str, model.features)),
        "labels": list(model.classes),
        "members": [
            {"name": m.name, "accuracy": m.accuracy, "log_loss": m.log_loss, "worth": m.worth}
            for m in model.mixture
        ],
    }
    if kept is not None:
        scores = Scores.restored(kept["progress"]["scores"])
        late = kept["late"]
        found |= {
            "position": kept["position"],
            "counts": kept["progress"]["counts"],
            "seconds": kept["progress"].get("seconds"),
            "rejected": kept["rejected"],
            "scores": scores.report(len(kept["progress"]["classes"])),
            "waiting": None if late is None else len(late["waiting"]["records"]),
        }
    return found
