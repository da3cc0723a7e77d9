"""The process that helps another one to compile: ``python -m stream_llsvm.kernels.helper``.

It writes a line whenever it wants work, and reads the name of a kernel, ``module:function``. Its
input ends when the process that started it does, however that comes about, and so does it.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from importlib import import_module

from stream_llsvm.kernels.ahead import few_collections
from stream_llsvm.kernels.dispatch import SIGNATURE


def main() -> None:
    """Compile what is asked for."""
    # Ctrl-C is for the process that started this one, which then ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(names,), daemon=True).start()
    with few_collections():
        while True:
            print("next", flush=True)
            module, _, function = names.get().partition(":")
            getattr(import_module(module), function).compile(SIGNATURE)


def _listen(names: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        names.put(line.strip())
    os._exit(0)


if __name__ == "__main__":
    main()
