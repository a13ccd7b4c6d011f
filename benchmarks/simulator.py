"""How fast the simulator is: simulated seconds per CPU second, and CPU seconds per seed.

The same seeds each time, one after the other. While the code draws the same random numbers they are
the same runs, so the figures compare commits; otherwise they do so roughly.
"""

import os
import re
import subprocess
import sys

from benchmarks.bench import Bench, Row
from benchmarks.brokers import BARNABAS

_SEEDS = 60
_QUICK_SEEDS = 10


def measure(bench: Bench) -> list[Row]:
    seeds = _QUICK_SEEDS if bench.quick else _SEEDS
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.sim", "--seeds", f"0-{seeds - 1}", "--jobs", "1"],
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"(\d+) s were simulated, ([\d.]+) per CPU second", done.stdout)
    assert found is not None, done.stdout
    simulated_s, pace = float(found[1]), float(found[2])
    return [
        Row("simulated seconds per CPU second", "s", {BARNABAS: pace}),
        Row(f"CPU per seed, {seeds} seeds", "s", {BARNABAS: simulated_s / pace / seeds}),
    ]
