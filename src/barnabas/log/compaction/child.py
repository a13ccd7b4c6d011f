"""The process that compacts: `python -m barnabas.log.compaction.child`.

It reads (function, arguments, keyword arguments) from its standard input and writes what the
function returns to its standard output, both pickled, one after the other. It makes way for
everything else on the machine, and ends when its input does, in the middle of its work too, or
when it was idle for a while.
"""

import os
import pickle
import signal
import sys
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

_IDLE_S = 30.0
_LOWEST_PRIORITY = 19

Requests = SimpleQueue[tuple[Any, tuple[Any, ...], dict[str, Any]]]


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    os.nice(_LOWEST_PRIORITY)
    requests: Requests = SimpleQueue()
    Thread(target=_receive, args=(requests,), daemon=True).start()
    while True:
        try:
            function, arguments, named = requests.get(timeout=_IDLE_S)
        except Empty:
            return
        pickle.dump(function(*arguments, **named), sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _receive(requests: Requests) -> None:
    try:
        while True:
            requests.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - from the parent
    except EOFError:
        os._exit(0)


if __name__ == "__main__":
    main()
