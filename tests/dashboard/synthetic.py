"""Frames as the page gets them, made up: any number of classes, features and strange names."""

from __future__ import annotations

import base64
import math
import random
from typing import Any

from stream_llsvm.dashboard.look import Input
from stream_llsvm.dashboard.messages import input_shown, score_list
from stream_llsvm.engine.input.drift import FieldNow

BEGIN = 1_763_490_000.0
HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    'it\'s "quoted" & <b>bold</b>',
    "\U0001f98a\U0001f469\u200d\U0001f680 fox",
    "\u202eright to left",
    "x" * 500,
    "__proto__",
    "constructor",
    "",
    "  ",
    "line\nbreak",
]

STEPS = ("step 4", "step 4, averaged")


class Run:
    """A run that never was: ``frame(i)`` is what the page would have got at its i-th look."""

    def __init__(
        self,
        classes: list[str] | None = None,
        features: list[str] | None = None,
        members: list[str] | None = None,
        *,
        plane: str = "features",
        begin: float = BEGIN,
        labelled: bool = True,
        late: bool = False,
    ) -> None:
        self.classes = ["lower", "upper"] if classes is None else classes
        self.features = ["x", "y"] if features is None else features
        self.members = members or [
            "linear",
            "anchors:30",
            "anchors:300",
            "additive",
            "memory",
            "ferns",
        ]
        self.plane, self.begin, self.labelled, self.late = plane, begin, labelled, late

    def time(self, i: int) -> float:
        """Return when the i-th look was."""
        return self.begin + 0.25 * i

    def point(self, i: int) -> dict[str, Any]:
        """Return the i-th point."""
        chance = random.Random(i)
        dip = 0.25 * math.exp(-(((i % 300) - 150) ** 2) / 400) if i % 300 >= 150 else 0.0
        right = 0.93 - 0.4 * math.exp(-i / 40) - dip + 0.008 * chance.random()
        waits = [3e-5 * (1 + 0.2 * chance.random()) * factor for factor in (1, 2, 5)]
        weights = [1 + math.sin(i / 60 + j) ** 2 for j in range(len(self.members))]
        point: dict[str, Any] = {
            "id": i,
            "time": self.time(i),
            "records": 100 * i,
            "learned": max(0, 100 * i - 5),
            "rate": 400 + 30 * chance.random(),
            "lag": 40 + i % 50,
            "rejected": i // 200,
            "fields_moved": 0,
            "most_drift": 0.01 + 0.005 * chance.random(),
            "predict_p50": 30 * waits[0],
            "predict_p95": 30 * waits[1],
            "predict_p99": 30 * waits[2],
            "learn_p50": waits[0],
            "learn_p95": waits[1],
            "learn_p99": waits[2],
            "members": [w / sum(weights) for w in weights],
            "steps": [[0.75 * w / sum(weights), -0.25 * w / sum(weights)] for w in weights],
        }
        if self.labelled:
            point |= {
                "windowed": right,
                "fading": right - 0.01,
                "cumulative": 0.9 - 0.4 * math.exp(-i / 90),
                "majority": 0.52,
                "no_change": 0.5,
                "kappa": 2 * right - 1,
                "kappa_m": 2 * right - 1,
                "kappa_t": 2 * right - 1,
                "log_loss": 0.21,
                "estimated": right + 0.01 * math.sin(i / 30),
                "overconfidence": 0.01 * math.sin(i / 30),
                "by_class": [
                    [j, right - 0.01 * (j % 7), right - 0.02 * (j % 5), right, 100 + j]
                    for j in range(min(20, len(self.classes)))
                ],
            }
        return point

    def events(self, i: int) -> list[dict[str, Any]]:
        """Return what has happened until the i-th look."""
        found: list[dict[str, Any]] = []
        for at in range(1, i + 1):
            kind = {0: "better", 155: "drift"}.get(at % 300) or (
                "checkpoint" if at % 100 == 0 else None
            )
            if kind is not None:
                text = {"drift": "the error rate has risen", "better": "the error rate has fallen"}
                found.append(
                    {
                        "id": len(found),
                        "time": self.time(at),
                        "record": 100 * at,
                        "kind": kind,
                        "text": text.get(kind, f"number {at // 100}"),
                    }
                )
        return found[-100:]

    def frame(self, i: int, **status: Any) -> dict[str, Any]:
        """Return the i-th frame; what is given besides replaces what its status would say."""
        point, names = self.point(i), self.classes
        scores = {}
        if self.labelled and i > 0:
            keys = (
                *("majority", "no_change", "kappa", "kappa_m", "kappa_t", "log_loss"),
                *("estimated", "overconfidence"),
            )
            scores = {
                view: {"accuracy": point[view], "macro_f1": point[view] - 0.02}
                | {key: point[key] for key in keys}
                for view in ("windowed", "fading", "cumulative")
            }
        chance = random.Random(i)
        table = [
            [
                chance.randrange(300, 600) if a == b else int(chance.random() ** 6 * 60)
                for b in names
            ]
            for a in names
        ]
        return {
            "id": i,
            "time": self.time(i),
            "status": {
                "state": "running",
                "since": self.begin,
                "text": "",
                "model": "CommitteeClassifier",
                "source": "bananas",
                "records": 100 * i,
                "predicted": 100 * i,
                "learned": 100 * i - 5,
                "rate": point["rate"],
                "lag": point["lag"],
                "late": i // 300,
                "gave_up": 0,
                "waited": i / 100,
                "rejected": i // 200,
                "reasons": {"bad number": i // 200} if i >= 200 else {},
                "started": self.begin,
                "checkpoint": {
                    "number": i // 100,
                    "time": self.time(i - i % 100),
                    "record": 100 * (i - i % 100),
                    "failed": False,
                }
                if i >= 100
                else None,
                "drifts": (i + 145) // 300,
                "features": len(self.features),
                "classes": len(names),
            }
            | status,
            "task": "classification",
            "point": point,
            "scores": scores,
            "score_list": score_list("classification", scores),
            "window": 1000,
            "estimated": dict.fromkeys(("windowed", "fading", "cumulative"), point["estimated"])
            if scores
            else {},
            "by_class": self._by_class(point),
            "sureness": self._sureness() if scores else None,
            "input": self._input(),
            "cohorts": [],
            "decision": None,
            "confusion": {
                "classes": names,
                "table": table,
                "cumulative": [[20 * n for n in row] for row in table],
                "since": [0, *(37 * j for j in range(1, len(names)))],
                "others": 0,
            }
            if names
            else None,
            "lag": {f"topic[{p}]": 10 + p for p in range(4)},
            "labels": {
                "waiting": 10,
                "matched": 5 * i,
                "expired": 2,
                "orphaned": 1,
                "duplicated": 0,
                "delays": {
                    "upto": [0.01, 0.1, 1, 10, 60, 600, 3600, None],
                    "counts": [0, 12, 340, 911, 402, 77, 3, 1],
                },
            }
            if self.late
            else None,
            "events": self.events(i)[-20:],
            "dead_letters": [
                {
                    "place": f"bananas.csv:{i}",
                    "reason": "bad number",
                    "detail": "column x: 'abc' is no number",
                }
            ]
            if i >= 200
            else [],
            "model": self.model(i) if self.labelled and i % 2 == 0 else None,
        }

    def _by_class(self, point: dict[str, Any]) -> list[dict[str, Any]]:
        shares = [1 / max(1, len(self.classes))] * 2
        names = ("code", "precision", "recall", "f1", "support", "labels", "answers")
        return [
            dict(zip(names, (*told, *shares), strict=True)) | {"name": self.classes[told[0]]}
            for told in point.get("by_class", ())
        ]

    def _input(self) -> dict[str, Any]:
        told = [
            FieldNow(
                name, "number", "number", 0.001 * j, 0.01, 0.0, 1.5, 1.4, 0.5, 0.5, 0.0, 0.02,
                12, 0, -1,
            )
            for j, name in enumerate(self.features[:60])
        ]  # fmt: skip
        seen = Input(told, len(self.features), 0, 0, 5_000, 0.001, "what came before")
        return input_shown(seen) or {}

    def _sureness(self) -> dict[str, Any]:
        held = [(j + 0.5) / 20 for j in range(20)]
        counts = [int(1.28**j) for j in range(20)]
        seen = {"answers": counts, "labelled": counts, "held": held}
        return {
            "windowed": seen | {"right": [max(0.0, h - 0.05) for h in held]},
            "cumulative": seen | {"right": held},
        }

    def model(self, i: int) -> dict[str, Any]:
        """Return the part of a frame that is about the model."""
        point, chance = self.point(i), random.Random(7)
        return {
            "mixture": [
                {
                    "name": name,
                    "awake": name != "ferns",
                    "weight": weight,
                    "accuracy": 0.85 + 0.01 * j,
                    "log_loss": 0.3 - 0.01 * j,
                    "worth": 0.02 * j,
                    "steps": list(zip(STEPS, point["steps"][j], strict=True)),
                }
                for j, (name, weight) in enumerate(zip(self.members, point["members"], strict=True))
            ],
            "relevance": [[name, 2 / (j + 1)] for j, name in enumerate(self.features[:30])],
            "health": {
                "weight_norm": 12.3,
                "violations": 0.12,
                "non_finite": 0,
                "anchor_moves": 40 * i,
                "state_bytes": 340_000,
            },
            "map": self._map(i, chance),
            "whys": [self._why(100 * i - j) for j in range(8)],
        }

    def _bananas(self, chance: random.Random, turn: float) -> tuple[list[float], int]:
        label = chance.randrange(max(1, len(self.classes)))
        angle = math.pi * chance.random()
        side = 1 if label % 2 == 0 else -1
        x = side * math.cos(angle) + 0.5 * (side - 1) + 0.5 + chance.gauss(0, 0.12)
        y = side * math.sin(angle) - 0.25 * side + chance.gauss(0, 0.12)
        c, s = math.cos(turn), math.sin(turn)
        return [c * x - s * y, s * x + c * y], label

    def _map(self, i: int, chance: random.Random) -> dict[str, Any]:
        turn, anchors = i / 300, []
        for a in range(30):
            at, label = self._bananas(chance, turn)
            trail = [[at[0] - 0.02 * k, at[1] - 0.015 * k * math.sin(a)] for k in range(11, 0, -1)]
            shares = [0.9 if j == label else 0.1 for j in range(len(self.classes))][:40]
            anchors.append(
                {
                    "id": a,
                    "at": at,
                    "mass": 0.3 / (a + 1),
                    "label": label,
                    "share": shares,
                    "dead": a % 11 == 10,
                    "trail": trail,
                    "weights": [
                        [name, math.sin(a + j)] for j, name in enumerate(self.features[:12])
                    ],
                }
            )
        recent = random.Random(i)
        records = []
        for _ in range(200):
            at, label = self._bananas(recent, turn)
            records.append({"at": at, "label": label, "right": recent.random() < 0.92})
        return {
            "member": "anchors:30",
            "members": ["anchors:30", "anchors:300"],
            "axes": [*self.features[:2], ""][:2],
            "plane": self.plane,
            "classes": self.classes,
            "anchors": anchors,
            "records": records,
            "regions": self._regions(turn) if self.plane == "features" else None,
        }

    def _regions(self, turn: float) -> dict[str, Any]:
        codes, sure = bytearray(), bytearray()
        for row in range(48):
            for column in range(48):
                x, y = -2 + 4 * (column + 0.5) / 48, -2 + 4 * (row + 0.5) / 48
                c, s = math.cos(-turn), math.sin(-turn)
                u, v = c * x - s * y, s * x + c * y
                score = v - 0.5 * math.sin(2 * u)
                codes.append(int(score < 0) % max(1, len(self.classes)))
                sure.append(int(255 / (1 + math.exp(-3 * abs(score)))))
        return {
            "box": [-2, -2, 2, 2],
            "columns": 48,
            "rows": 48,
            "codes": base64.b64encode(bytes(codes)).decode(),
            "sure": base64.b64encode(bytes(sure)).decode(),
        }

    def _why(self, record: int) -> dict[str, Any]:
        chance = random.Random(record)
        label = chance.choice(self.classes or [""])
        truth = label if chance.random() < 0.85 else chance.choice(self.classes or [""])
        return {
            "record": record,
            "place": f"bananas.csv:{record}",
            "label": label,
            "truth": truth,
            "sure": 0.5 + chance.random() / 2,
            "score": 1.2,
            "bias": 0.1,
            "reference": 0.3,
            "memory": 0.3,
            "contributions": [[name, chance.uniform(-1, 1)] for name in self.features[:12]],
            "rest": 0.05 if len(self.features) > 12 else 0.0,
            "members": {name: chance.uniform(-0.4, 0.8) for name in self.members},
            "anchors": [{"id": 3, "share": 0.6}, {"id": 8, "share": 0.4}],
            "voters": [
                {"label": label, "age": 120 * k, "distance": 0.2 * k, "share": 0.3 / k}
                for k in range(1, 4)
            ],
            "values": [[name, chance.uniform(-2, 2)] for name in self.features[:40]],
        }

    def history(self, n: int) -> dict[str, Any]:
        """Return the points before the n-th, in columns, and what happened until then."""
        points = [self.point(i) for i in range(n)]
        names = points[0] if points else {}
        return {
            "points": {name: [p[name] for p in points] for name in names},
            "events": self.events(n - 1),
        }
