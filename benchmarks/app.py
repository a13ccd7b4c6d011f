"""What a record costs in an application: `barnabas.App` vs. other frameworks, in one run.

Thousands of handled records for each second of CPU of the process, all threads counted, for a
handler that does nothing: plain and coroutine functions, one record at a time and 32. Values of
100 B, decoded to text; 1,000 keys, four partitions of one broker, whose CPU does not count. All
commit offsets in the background.

With 32 at a time, Barnabas keeps the order of keys, and commits what is done; FastStream keeps that
of partitions or none, and acknowledges first. quixstreams has plain functions only, Faust
coroutines only, so each is in one or two lines.

The others are installed from PyPI into an environment of their own, in the folder for temporary
files, at the first run. Each program is a process of its own: see `benchmarks/frameworks`. They
take turns, and medians are compared.

The promise: three times the fastest of the others in the same line.
"""

import os
import subprocess
import sys
import tempfile
import venv
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import NamedTuple

import barnabas
from barnabas.records.kernel import kernel
from benchmarks.bench import (
    FASTSTREAM_AIOKAFKA,
    FASTSTREAM_CONFLUENT,
    FAUST,
    QUIXSTREAMS,
    TOPIC,
    Bench,
    Row,
)
from benchmarks.brokers import BARNABAS, Broker, Contender

_PARTITIONS = 4
_KEYS = 1_000
_AIM = 3.0
_PATIENCE_S = 60.0
_FOLDER = Path(__file__).parent / "frameworks"
_REQUIREMENTS = (
    "faststream[confluent,kafka]==0.7.8",
    "quixstreams==3.28.1",
    "faust-streaming==0.15.3",
)


class Framework(NamedTuple):
    """A program, its lines, and how many records keep it busy for some seconds."""

    name: str
    program: str
    kinds: tuple[str, ...]
    concurrencies: tuple[int, ...]
    records: int
    backend: str = ""


FRAMEWORKS = (
    Framework(BARNABAS, "own", ("sync", "async"), (1, 32), 400_000),
    Framework(
        FASTSTREAM_CONFLUENT, "with_faststream", ("sync", "async"), (1, 32), 4_000, "confluent"
    ),
    Framework(FASTSTREAM_AIOKAFKA, "with_faststream", ("sync", "async"), (1, 32), 6_000, "kafka"),
    Framework(QUIXSTREAMS, "with_quixstreams", ("sync",), (1,), 100_000),
    Framework(FAUST, "with_faust", ("async",), (1,), 10_000),
)


def measure(bench: Bench) -> list[Row]:
    if kernel is None:
        note = "without the compiled kernel, Barnabas is slower: `pip install -e .` with a compiler"
        bench.console.print(note, highlight=False)
    python = environment(bench)
    shrink = 4 if bench.quick else 1
    seen: defaultdict[tuple[str, int], defaultdict[str, list[float]]]
    seen = defaultdict(lambda: defaultdict(list))
    with Contender(BARNABAS).running(TOPIC, _PARTITIONS) as broker:
        fill(broker, max(each.records for each in FRAMEWORKS) // shrink)
        for number in range(1, bench.rounds + 1):
            for framework in FRAMEWORKS:
                for kind in framework.kinds:
                    for concurrency in framework.concurrencies:
                        what = f"{framework.name}, {kind}, {concurrency} at a time"
                        with bench.console.status(f"{what}, round {number} of {bench.rounds}"):
                            count = framework.records // shrink
                            speed = run(broker, framework, python, kind, concurrency, count)
                        shown = "failed" if speed is None else f"{speed:.4g} k/CPU s"
                        bench.console.print(f"  [dim]{what}: {shown}[/]", highlight=False)
                        if speed is not None:
                            seen[kind, concurrency][framework.name].append(speed)
    rows = []
    for (kind, concurrency), by_name in seen.items():
        values = {name: median(speeds) for name, speeds in by_name.items()}
        others = [name for name in values if name != BARNABAS]
        others.sort(key=lambda name: -values[name])  # the fastest is compared with
        rows.append(
            Row(
                f"{'Plain' if kind == 'sync' else 'Coroutine'} function, {concurrency} at a time",
                "k/CPU s",
                values,
                at_least_ratios=dict.fromkeys(others, _AIM),
            )
        )
    return rows


def environment(bench: Bench) -> Path | None:
    """The Python that has the other frameworks; None if they can't be installed."""
    folder = Path(tempfile.gettempdir()) / "barnabas-bench-frameworks"
    python, marker = folder / "bin" / "python", folder / "installed"
    wanted = "\n".join(_REQUIREMENTS)
    if marker.exists() and marker.read_text() == wanted:
        return python
    with bench.console.status("Installing other frameworks"):
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "-q", *_REQUIREMENTS]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        bench.console.print(f"the others are left out: {done.stderr[-500:]}", highlight=False)
        return None
    marker.write_text(wanted)
    return python


def run(
    broker: Broker,
    framework: Framework,
    rivals: Path | None,
    kind: str,
    concurrency: int,
    count: int,
) -> float | None:
    """Thousands of records for each CPU second; None if it can't be measured."""
    python = sys.executable if framework.name == BARNABAS else rivals
    if python is None:
        return None
    program = str(_FOLDER / f"{framework.program}.py")
    command = [str(python), program, broker.bootstrap, TOPIC, kind, str(concurrency), str(count)]
    environ = {**os.environ, "BACKEND": framework.backend}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
            env=environ,
        )
    except subprocess.TimeoutExpired:
        return None
    figures = done.stdout.split()[-2:]
    if done.returncode or len(figures) != 2:
        if framework.name == BARNABAS:
            raise RuntimeError(done.stderr)
        return None
    return count / float(figures[1]) / 1000


def fill(broker: Broker, count: int) -> None:
    """Enough for the fastest; the others end earlier."""
    value = b"x" * 100
    with barnabas.Producer(broker.bootstrap) as producer:
        for number in range(count):
            producer.send(TOPIC, value, key=b"k%d" % (number % _KEYS))
