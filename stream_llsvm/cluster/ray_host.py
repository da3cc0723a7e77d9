"""Learners as actors of Ray, on this machine or on many. No other file knows Ray.

What is used of it: an actor that dies is made again, and what it was asked is asked again; a large
object is kept where it is, and fetched. Nothing is trusted to it: a model that a learner returns
belongs to the coordinator, and all that counts is in the manifest.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from concurrent.futures import Future
from functools import cache
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from stream_llsvm.cluster.rounds import Setup, Worker, process_name
from stream_llsvm.engine.resume import EngineError

LOOPBACK = "127.0.0.1"
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STORE = 256 * 2**20  # bytes that models on their way may take
_MODE, _TOKENS = "RAY_AUTH_MODE", ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
#: By this Ray stays on 127.0.0.1; it takes that for the address of another interface otherwise, and
#: listens on all.
_ALONE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


class RayHost:
    """Learners as actors of Ray.

    A process that is in a cluster of Ray's already stays in that one.

    Parameters
    ----------
    setup
        What every learner is told.
    address
        Of a cluster, ``host:6379``; ``"auto"`` starts one on this machine,
        which only this user can reach and which ends with this process.
    most
        How many learners there may be.

    """

    def __init__(self, setup: Setup, address: str, most: int) -> None:
        self._setup, self._address, self._most = setup, address, most
        self._own = address == "auto"
        # Ray's client, of ray://, has no node of its own.
        joins_here = "://" not in address and is_here(_host_of(address))
        self._alone = self._own or joins_here
        if not self._own:
            check_address(address)
        self._before: dict[str, str | None] = {}
        self._ray: Any = None
        self._kept_setup: Any = None
        self._begins = False  # whether this host has started Ray in this process
        self._actors: list[Any] = []
        self._processes: list[str] = []
        self._restarted: list[int] = []
        self._lock = threading.Lock()

    def start(self, n: int) -> None:
        """See that there are so many learners; the first call starts or finds the cluster."""
        if self._ray is None:
            self._ray = self._begun()
        if len(self._actors) >= n:
            return
        room = int(self._ray.cluster_resources().get("CPU", 0))
        if n > room:
            raise EngineError(
                f"{n} learners need a processor each, and the cluster at {self._address} has "
                f"{room}: take fewer workers, or let more nodes join it"
            )
        if self._kept_setup is None:
            self._kept_setup = self._ray.put(self._setup)
        made = self._ray.remote(Actor).options(num_cpus=1, max_restarts=-1, max_task_retries=-1)
        while len(self._actors) < n:
            self._actors.append(made.remote())
            self._processes.append("")
            self._restarted.append(0)

    def _begun(self) -> Any:
        """Return Ray, which has started a cluster or joined one."""
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        if "ray" in sys.modules and sys.modules["ray"].is_initialized():
            return sys.modules["ray"]  # this process is in a cluster already
        if self._own:
            self._hide()
        handlers = {one: signal.getsignal(one) for one in _SIGNALS}
        try:
            import ray

            how: dict[str, Any] = {
                "log_to_driver": False,
                "logging_level": "ERROR",
                "configure_logging": False,
            }
            if self._alone:
                # It looked at the variable when it was imported.
                ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
                how["_node_ip_address"] = LOOPBACK
            if self._own:
                ray.init(
                    address="local",
                    num_cpus=self._most,
                    include_dashboard=False,
                    object_store_memory=_STORE,
                    **how,
                )
            else:
                ray.init(address=self._address, **how)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            said = str(error).strip().partition("\n")[0]
            raise EngineError(f"no cluster at {self._address}: {said}") from None
        finally:
            self._show()
            if threading.current_thread() is threading.main_thread():
                for one, handler in handlers.items():  # Ray's own would end the process at once
                    signal.signal(one, handler)
        self._begins = True
        if self._own and not is_here(_host_of(ray.get_runtime_context().gcs_address)):
            self._ray = ray
            self.close()
            raise EngineError(
                "this version of Ray cannot be kept to this machine: start a cluster of your own, "
                "and name its address"
            )
        return ray

    def _hide(self) -> None:
        """Let Ray ask everybody for a token that only this user can read."""
        known = any(name in os.environ for name in _TOKENS)
        told = {} if known else {_TOKENS[1]: str(token_file())}
        for name, value in (told | {_MODE: "token", _ALONE: "0"}).items():
            if name == _MODE and "ray" in sys.modules and not _asks_for_tokens():
                continue  # it has looked already, and turns tokens on by itself
            self._before[name] = os.environ.get(name)
            os.environ[name] = value

    def _show(self) -> None:
        """Leave the variables as they were; Ray and its processes have read them."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before.clear()

    def share(self, data: bytes) -> Any:
        """Put what all learners get where each can fetch it."""
        return self._ray.put(data)

    def call(self, rank: int, name: str, *arguments: Any) -> Future[Any]:
        """Let a learner do something, or whoever takes its place."""
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()
        asked = self._actors[rank].do.remote([self._kept_setup], name, *arguments).future()
        asked.add_done_callback(lambda done: self._told(rank, done, answer))
        return answer

    def _told(self, rank: int, done: Future[Any], answer: Future[Any]) -> None:
        """Note which process has answered, and what."""
        error = done.exception()
        if error is not None:
            answer.set_exception(_plain(error))
            return
        process, result = done.result()
        with self._lock:
            before, self._processes[rank] = self._processes[rank], process
            self._restarted[rank] += before not in ("", process)
        answer.set_result(result)

    def restarted(self, rank: int) -> int:
        """Return how often a learner was replaced."""
        with self._lock:
            return self._restarted[rank]

    def room(self) -> int | None:
        """Return how many processors the cluster has, if these are fewer than learners."""
        room = int(self._ray.cluster_resources().get("CPU", 0))
        return room if room < len(self._actors) else None

    def close(self) -> None:
        """End all learners, and the cluster if it is this process's."""
        if self._ray is None:
            return
        for actor in self._actors:
            self._ray.kill(actor)
        for own in (self._actors, self._processes, self._restarted):
            own.clear()
        if self._begins:
            self._ray.shutdown()
        self._ray = self._kept_setup = None
        self._begins = False


@cache
def token_file() -> Path:
    """Return a file with a token that only this user can read; it goes with this process.

    There is one for all clusters of a process, since Ray remembers the first.
    """
    folder = Path(tempfile.mkdtemp(prefix="stream-llsvm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "token"
    with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(secrets.token_hex(32))
    return path


def _asks_for_tokens() -> bool:
    """Whether Ray, which is imported, asks for tokens already."""
    raylet: Any = import_module("ray._raylet")
    return bool(raylet.get_authentication_mode() == raylet.AuthenticationMode.TOKEN)


class Actor:
    """A learner in a process of Ray's."""

    _worker: Worker | None = None

    def do(self, setup: list[Any], name: str, *arguments: Any) -> tuple[str, Any]:
        """Do something by name; returns who has done it, too.

        Where the setup is comes with every call: an actor that is made again knows nothing.
        """
        if self._worker is None:
            import ray

            self._worker = Worker(ray.get(setup[0]))
        return process_name(), getattr(self._worker, name)(*arguments)


def _plain(error: BaseException) -> BaseException:
    """Return what a learner raised as it raised it; what became of Ray as an EngineError."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return cause
    said = str(error).strip().partition("\n")[0]
    return EngineError(f"the cluster does not answer: {type(error).__name__}: {said}")


def check_address(address: str) -> None:
    """Raise ValueError if a cluster's address is none, or is public and anybody could join it.

    Examples
    --------
    >>> check_address("127.0.0.1:6379")

    """
    host = _host_of(address)
    if not host:
        raise ValueError(f'cluster is "auto", "local" or host:port, as head:6379; got {address!r}')
    if not is_here(host) and os.environ.get(_MODE, "").lower() != "token":
        raise ValueError(
            f"the cluster at {host} can be reached by others, and whoever reaches it can run any "
            f"code there: start it with {_MODE}=token, and set {_MODE}=token and {_TOKENS[1]} here"
        )


def _host_of(address: str) -> str:
    """Return the host of an address; empty if it has none."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    return host if port.isdecimal() else ""


def is_here(host: str) -> bool:
    """Whether a host is this machine, which nobody else reaches by that name."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
