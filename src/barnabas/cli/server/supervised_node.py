"""One node below `barnabas server --nodes`, with its settings as NAME=VALUE arguments, and those
that are secret in its environment.

Its standard input is a pipe that the supervisor holds open and never writes to. When the
supervisor is gone, however it ended, the pipe ends too, and so does the node.
"""

import os
import signal
import sys
import threading
import time

from barnabas.broker.server import main
from barnabas.cli.server.secret_settings import take_from

_STDIN = 0
_GRACE_S = 10


def _end_with_supervisor() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    sys.exit(main([*sys.argv[1:], *take_from(os.environ)]))
