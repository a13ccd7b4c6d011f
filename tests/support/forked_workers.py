"""Workers of pytest-xdist that are forks of one process which has imported all tests.

Importing them takes half a minute of CPU, more than twice that where nothing is compiled yet, and
every worker of xdist imports them all. Here one process, the template, imports the tests once, and
each worker begins as a copy of it, so that only collecting is left to do.

    pytest --workers 4 -> template: imports, then waits
                       -> xdist starts four launchers in place of interpreters
                          launcher -> template: its stdin, stdout and stderr
                                      template -> fork: goes on as the interpreter

`python -m tests.support.forked_workers LISTENER ARGUMENTS` is the template, where LISTENER is the
number of a file descriptor; it ends when its stdin is closed. `worker_launcher.py` is the launcher.
"""

import gc
import os
import random
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import mkdtemp

import pytest

_STREAMS = 3
_RESTARTS = 4
"""How often a worker that crashes is replaced, as xdist has it by default."""


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, metavar="N", help="run in N forks of one process")


def start(config: pytest.Config) -> None:
    """Have xdist use forks of a template, in the main process of a run with --workers."""
    workers = config.getoption("--workers")
    if not workers or hasattr(config, "workerinput") or config.getoption("collectonly"):
        return
    path = Path(mkdtemp()) / "template"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        number = listener.fileno()
        template = subprocess.Popen(
            [sys.executable, "-m", __name__, str(number), *config.invocation_params.args],
            stdin=subprocess.PIPE,
            pass_fds=[number],
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )
    config.add_cleanup(lambda: _end(template))
    launcher = Path(__file__).with_name("worker_launcher.py")
    # Neither site-packages nor variables: the launcher has to start quickly, and needs nothing.
    python = shlex.join([sys.executable, "-S", "-E", str(launcher), str(path)])
    config.option.tx = [f"popen//python={python}"] * workers
    config.option.maxworkerrestart = str(_RESTARTS * workers)


def _end(template: "subprocess.Popen[bytes]") -> None:
    assert template.stdin is not None
    template.stdin.close()
    template.wait()


def main(number: str, *arguments: str) -> None:
    with socket.socket(fileno=int(number)) as listener:
        listener.set_inheritable(False)
        _import_tests(arguments)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process tells when it is over
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        assert threading.active_count() == 1, f"a fork would lack {threading.enumerate()}"
        gc.collect()
        gc.freeze()  # otherwise the first collection in each fork copies all of the memory
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            launcher, _ = listener.accept()
            if not os.fork():
                break
            launcher.close()
        else:
            return
    _become_worker(launcher)


def _import_tests(arguments: tuple[str, ...]) -> None:
    """Import what the tests import; what is wrong with it, the workers will say."""
    given = [*arguments, "--collect-only", "--quiet", "--numprocesses", "0"]
    # Where nothing is compiled yet, another process begins to do so from the other end.
    paths = [each for each in arguments if Path(each).exists()]
    backwards = [*(each for each in given if each not in paths), *reversed(paths)]
    helper = subprocess.Popen(
        [sys.executable, "-m", "pytest", *backwards],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        pytest.main(given, plugins=[_OnlyImports()])
    helper.kill()
    helper.wait()


class _OnlyImports:
    """A plugin that lets pytest import modules, and find nothing in them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self) -> list[pytest.Item]:
        return []


def _become_worker(launcher: socket.socket) -> None:
    """Do what the interpreter would have done that xdist wanted to start."""
    streams = socket.recv_fds(launcher, 1, _STREAMS)[1]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        number = getattr(sys, name).fileno()
        setattr(sys, name, os.fdopen(number, mode, closefd=False))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    random.seed()
    sys.argv = ["-c"]
    # The socket stays open until this process ends: the launcher waits for that.
    exec(eval(sys.stdin.readline()), {"__name__": "__main__", "launcher": launcher})


if __name__ == "__main__":
    main(*sys.argv[1:])
