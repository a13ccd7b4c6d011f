"""Commands of the simulator, each in a process forked from one that has imported everything.

Seeds need an interpreter with `PYTHONHASHSEED=0`, which pytest is not, and starting one costs more
than most seeds do. A fork also keeps a broken rule of one command from the next. What a command
does here it does in a shell too, so a failure names the command that repeats it.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
from typing import BinaryIO, NamedTuple, Self

HASH_SEED = {"PYTHONHASHSEED": "0"}
_SHOWN = 8000


class Done(NamedTuple):
    """How a command has ended."""

    command: str
    code: int
    output: str
    errors: str

    def __str__(self) -> str:
        told = f"{self.output[-_SHOWN:]}{self.errors[-_SHOWN:]}"
        return f"{self.command}\nended with {self.code}:\n{told}"


class ForkServer:
    """Runs `python -m MODULE ARGUMENTS` with what is imported already."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.sim.fork_server"],
            env=os.environ | HASH_SEED,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # a test that took too long left a child
        self._process.communicate()

    def run(self, module: str, *arguments: str) -> Done:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([module, *arguments]), file=self._process.stdin, flush=True)
        told = self._process.stdout.readline()
        assert told, "the fork server has ended"
        code, output, errors = json.loads(told)
        words = (f"'{each}'" if " " in each else each for each in arguments)
        return Done(f"PYTHONHASHSEED=0 python -m {module} {' '.join(words)}", code, output, errors)


def _serve() -> None:
    import tests.sim.variants  # noqa: F401 - and with it the simulator
    from barnabas.sim.forks import freeze

    freeze()
    for line in sys.stdin:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            child = os.fork()
            if child == 0:
                _become(json.loads(line), output.fileno(), errors.fileno())
            _, status = os.waitpid(child, 0)
            told = os.waitstatus_to_exitcode(status), _text(output), _text(errors)
        print(json.dumps(told), flush=True)


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _become(command: list[str], output: int, errors: int) -> None:
    """Run the command, and end this process."""
    code = 1
    try:
        os.dup2(output, 1)
        os.dup2(errors, 2)
        module, *_ = sys.argv = command
        runpy.run_module(module, run_name="__main__", alter_sys=False)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - the interpreter would show it, too
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
