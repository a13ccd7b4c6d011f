"""The process that compacts: `python -m barnabas.log.compaction.child IDLE_SECONDS`.

It reads (function, arguments, keyword arguments) from its standard input and writes what the
function returns to its standard output, both pickled. It runs at the lowest priority, and exits
when its input ends, even in the middle of its work, or after IDLE_SECONDS without work.
"""

import os
import pickle
import signal
import sys
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

_LOWEST_PRIORITY = 19

Requests = SimpleQueue[tuple[Any, tuple[Any, ...], dict[str, Any]]]


def main(idle_s: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    os.nice(_LOWEST_PRIORITY)
    requests: Requests = SimpleQueue()
    Thread(target=_receive, args=(requests,), daemon=True).start()
    while True:
        try:
            function, arguments, named = requests.get(timeout=idle_s)
        except Empty:
            return
        answer = pickle.dumps(function(*arguments, **named))
        try:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # the parent was killed meanwhile
            os._exit(0)


def _receive(requests: Requests) -> None:
    # Not sys.stdin, which the interpreter would wait for when it ends.
    with open(sys.stdin.fileno(), "rb", closefd=False) as source:
        try:
            while True:
                requests.put(pickle.load(source))  # noqa: S301 - from the parent
        except EOFError:
            os._exit(0)


if __name__ == "__main__":
    main(float(sys.argv[1]))
