"""What it costs to start: CPU and modules of imports and of commands, vs. an interpreter alone.

Every command and every broker pays it. CPU is the least of several runs: whatever disturbs a run
adds to it. The first run, which compiles bytecode, does not count. Modules are those that a start
imports, which explains a change of the CPU. The budgets are for a machine of 2020 or later.
"""

import resource
import subprocess
import sys
import tempfile

from benchmarks.bench import BASELINE, Bench, Row
from benchmarks.brokers import BARNABAS, Contender

_STARTS = (
    ("import barnabas", 0.06, 90, ("-c", "import barnabas")),
    ("barnabas --version", 0.2, 200, ("-m", "barnabas", "--version")),
    ("barnabas topics list --help", 0.2, 200, ("-m", "barnabas", "topics", "list", "--help")),
    ("import barnabas.Producer", 0.4, 400, ("-c", "from barnabas import Producer")),
    ("import barnabas.broker.server", 1.2, 1_100, ("-c", "import barnabas.broker.server")),
)
_READY_BUDGET_S = 1.5


def measure(bench: Bench) -> list[Row]:
    rounds = 3 if bench.quick else 10
    alone = ("-c", "pass")
    alone_s, alone_modules = _cpu_s(alone, rounds), _modules(alone)
    rows = []
    for name, budget_s, budget_modules, arguments in _STARTS:
        bench.console.print(f"  {name}")
        cpu = {BARNABAS: _cpu_s(arguments, rounds), BASELINE: alone_s}
        modules = {BARNABAS: float(_modules(arguments)), BASELINE: float(alone_modules)}
        rows += [
            Row(f"CPU of {name}, vs. Python alone", "s", cpu, at_most=budget_s),
            Row(f"Modules of {name}", "modules", modules, at_most=budget_modules),
        ]
    ready = {BARNABAS: min(_ready_cpu_s() for _ in range(rounds))}
    rows.append(Row("CPU until a broker is ready", "s", ready, at_most=_READY_BUDGET_S))
    return rows


def _cpu_s(arguments: tuple[str, ...], rounds: int) -> float:
    _run(arguments)
    return min(_run(arguments) for _ in range(rounds))


def _run(arguments: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _modules(arguments: tuple[str, ...]) -> int:
    """How many are imported until it ends."""
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return sum(line.startswith("import time:") for line in done.stderr.splitlines()) - 1


def _ready_cpu_s() -> float:
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory,
        Contender(BARNABAS).started(directory=directory) as broker,
    ):
        return broker.cpu_s()
