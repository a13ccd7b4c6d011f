"""What pytest-xdist starts in place of an interpreter: `worker_launcher SOCKET ...`.

It hands its streams to the template of `forked_workers.py`, and ends with the fork that got them.
It starts without site-packages, so it imports nothing but the standard library.
"""

import signal
import socket
import sys

signal.signal(signal.SIGINT, signal.SIG_IGN)  # the fork hears it, too
with socket.socket(socket.AF_UNIX) as template:
    template.connect(sys.argv[1])
    socket.send_fds(template, [b"\0"], [0, 1, 2])
    template.recv(1)
