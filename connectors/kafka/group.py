"""How far checkpoints have come, shown as the offsets of a consumer group.

Where reading goes on is in the checkpoint alone; what is committed here is for those who watch:
``kafka-consumer-groups``, Burrow, KEDA. So it is late by a moment, and may fail without harm.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import Any

from stream_llsvm.connectors.base import Position
from stream_llsvm.connectors.kafka.client import KafkaTroubleError, Settings
from stream_llsvm.connectors.kafka.positions import offsets_of

log = logging.getLogger("stream_llsvm.kafka")

_LAST = 5.0  # seconds that the last position has to arrive
_AGAIN = 0.2  # seconds between two tries


class GroupDisplay:
    """Commits positions for a group, in a thread and through a connection of its own.

    Parameters
    ----------
    group
        The name of the group; nobody may be a member of it.
    settings
        How the brokers are reached.

    """

    def __init__(self, group: str, settings: Settings) -> None:
        self.group = group
        self._settings = settings
        self._changed = threading.Condition()
        self._position: Position | None = None  # that is still to be shown
        self._end: float | None = None  # when the last one must have been shown
        self._said = ""
        self._thread: threading.Thread | None = None

    def show(self, position: Position) -> None:
        """Let a position be shown soon, unless another follows."""
        with self._changed:
            self._position = position
            self._changed.notify()
            if self._thread is None and self._end is None:
                self._thread = threading.Thread(target=self._run, name="kafka-group", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Show the last position, if a broker answers soon, and let go of the connection."""
        with self._changed:
            self._end = time.monotonic() + _LAST
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_LAST + 1.0)

    def _run(self) -> None:
        admin: Any = None
        while (position := self._next()) is not None:
            admin = self._committed(admin, position)
            if admin is None:  # try again, unless there is something newer then
                with self._changed:
                    self._position = self._position or position
                time.sleep(_AGAIN)
        if admin is not None:
            admin.close()

    def _next(self) -> Position | None:
        """Return the position to show, None if there is none any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._position is not None or self._end is not None)
            position, self._position = self._position, None
            late = self._end is not None and time.monotonic() > self._end
        return None if late else position

    def _committed(self, admin: Any, position: Position) -> Any:
        """Commit a position; return the connection, None if that did not succeed."""
        from kafka import KafkaAdminClient
        from kafka.errors import KafkaError
        from kafka.structs import OffsetAndMetadata

        offsets = {
            one: OffsetAndMetadata(offset, "", -1) for one, offset in offsets_of(position).items()
        }
        try:
            if admin is None:
                admin = self._settings.connect(lambda how: KafkaAdminClient(**how))
            kinds = admin.alter_group_offsets(self.group, offsets).values()
            failed = sorted({kind.__name__ for kind in kinds if kind.errno})
            if not failed:
                self._said = ""
                return admin
            self._warn(", ".join(failed))
        except (KafkaError, KafkaTroubleError) as error:
            self._warn(f"{type(error).__name__}: {error}")
        if admin is not None:
            with contextlib.suppress(Exception):  # it is of no use any more
                admin.close()
        return None

    def _warn(self, why: str) -> None:
        """Say what is wrong, once as long as it is the same."""
        if why != self._said:
            self._said = why
            why = self._settings.scrub(why)
            log.warning("the offsets of the group %r are not shown: %s", self.group, why)
