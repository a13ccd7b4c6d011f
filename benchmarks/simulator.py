"""How fast the simulator is: simulated seconds per CPU second, and seeds per CPU minute.

The same seeds each time, one after the other. While the code draws the same random numbers they are
the same runs, so the figures compare commits; otherwise they do so roughly. A run with futures
counts its futures too: each shares its beginning with its seed.
"""

import os
import re
import subprocess
import sys
from typing import NamedTuple

from benchmarks.bench import Bench, Row
from benchmarks.brokers import BARNABAS

_SEEDS = 60
_QUICK_SEEDS = 10
_FUTURES = 2


class _Pace(NamedTuple):
    simulated_s_per_cpu_s: float
    runs_per_cpu_minute: float


def measure(bench: Bench) -> list[Row]:
    count = _QUICK_SEEDS if bench.quick else _SEEDS
    seeds, explored = _simulate(count), _simulate(_QUICK_SEEDS, _FUTURES)
    return [
        Row("simulated seconds per CPU second", "s", {BARNABAS: seeds.simulated_s_per_cpu_s}),
        Row(f"seeds per CPU minute, {count} seeds", "", {BARNABAS: seeds.runs_per_cpu_minute}),
        Row(
            f"runs per CPU minute, {_QUICK_SEEDS} seeds with {_FUTURES} futures of each point",
            "",
            {BARNABAS: explored.runs_per_cpu_minute},
        ),
    ]


def _simulate(seeds: int, futures: int = 0) -> _Pace:
    chosen = ["--seeds", f"0-{seeds - 1}", "--futures", str(futures), "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.sim", *chosen],
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(
        r"were simulated, ([\d.]+) per CPU second\n([\d.]+) runs per CPU minute", done.stdout
    )
    assert found is not None, done.stdout
    return _Pace(float(found[1]), float(found[2]))
