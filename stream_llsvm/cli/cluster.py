"""Make the run of many learners that a pipeline asks for."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from stream_llsvm.cli.build import (
    UNFIT,
    check_same_model,
    made,
    make_dead_letters,
    make_model,
    said_of_columns,
)
from stream_llsvm.cli.checks import check_columns, check_folder_place
from stream_llsvm.cli.errors import MistakeError, one_line
from stream_llsvm.cli.pipeline import Settings
from stream_llsvm.connectors.base import Sink
from stream_llsvm.engine.checkpoints import Checkpoints
from stream_llsvm.engine.snapshots import Publisher
from stream_llsvm.extras import install_command

if TYPE_CHECKING:
    from stream_llsvm.cluster import ClusterEngine

_OF_ENGINE = ("max_rejected_ratio", "window", "probabilities")


def is_asked_for(settings: Settings) -> bool:
    """Whether there are to be several learners; one is what there is without a cluster."""
    return bool(settings.get("cluster", {}).get("workers", 1) != 1)


def make_cluster_engine(settings: Settings, sink: Sink | None, stack: ExitStack) -> ClusterEngine:
    """Return the engine of many learners; it goes on from its last manifest if it has one.

    What is opened on the way is left to the stack to close.
    """
    from stream_llsvm.cluster import ClusterEngine
    from stream_llsvm.cluster.rounds import sliced

    asked, source, kept = settings["cluster"], settings["source"], settings.get("checkpoints")
    letters, how = settings.get("dead_letters"), settings.get("engine", {})
    address = asked.get("address", "auto")
    if address != "local" and importlib.util.find_spec("ray") is None:
        raise MistakeError(
            f"many learners need the package ray: {install_command('cluster')}; or --cluster local "
            "learns in this process, one after the other"
        )
    for one in source["from"]:
        check_columns(one, source)
    more: dict[str, Any] = {name: how[name] for name in _OF_ENGINE if name in how}
    more |= {name: asked[name] for name in ("slice", "newest", "audit", "force") if name in asked}
    if "name" in settings.get("model", {}):
        more["champion"] = settings["model"]["name"]
    if how.get("detector") == "none":
        more["detector"] = None
    if letters is not None:
        more["dead_letters"] = make_dead_letters(letters)
        stack.callback(more["dead_letters"].close)
    with closing(made(lambda: sliced(source))) as tried:  # before anything is written
        made(tried.ends)
    model = make_model(settings)
    try:
        if kept is not None:
            check_folder_place("--checkpoints", kept["folder"])
            more["checkpoints"] = Checkpoints(kept["folder"], kept.get("keep", 3))
            stack.callback(more["checkpoints"].close)
            more["every"] = kept.get("every", 0.0)
        engine = ClusterEngine(
            source,
            model,
            workers=asked["workers"],
            cluster=address,
            sink=sink,
            numbers=_numbers(source),
            columns=said_of_columns(source, None),
            **more,
        )
    except (*UNFIT, TypeError, ImportError) as error:
        raise MistakeError(one_line(error)) from None
    stack.callback(engine.source.close)
    if kept is not None:
        check_same_model(engine.model, model, kept["folder"])
    if (publish := settings.get("publish")) is not None:
        check_folder_place("--publish", publish["folder"])
        often = {name: publish[name] for name in ("every", "keep") if name in publish}
        engine.watchers.append(made(lambda: Publisher(publish["folder"], **often)))
    return engine


def _numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return how labels that are text are read as numbers: as features are."""
    return {name: given[name] for name in ("missing", "decimal") if name in given}
