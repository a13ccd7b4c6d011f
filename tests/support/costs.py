"""What each test costs: seconds, and CPU seconds of the worker and of everything it has started.

`python -m tests.run --costs` prints the sums by area, the table of docs/development.md. A process
that outlives a test, a Spark session for instance, counts for the test during which it works.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.support.areas import area_of

VARIABLE = "PYTEST_COSTS"
"""Names the directory to which workers write, a line for each test."""

_LOOK_S = 0.2
"""Looking at all processes takes milliseconds, so it is done after tests that took so long."""
_DEAREST = 30
"""How many files are shown."""
_Sums = defaultdict[str, list[float]]
_TICKS = os.sysconf("SC_CLK_TCK")


class Costs:
    """The plugin of a worker."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / f"{os.getpid()}.jsonl"
        self._tree_s = _tree_cpu_s()
        self._own_s = 0.0
        """Spent since the processes were last looked at, and counted already."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        began, cpu = time.monotonic(), _own_cpu_s()
        done = yield
        took, spent = time.monotonic() - began, _own_cpu_s() - cpu
        if took > _LOOK_S:
            tree_s = _tree_cpu_s()
            spent = max(0.0, tree_s - self._tree_s - self._own_s)
            self._tree_s, self._own_s = tree_s, 0.0
        else:
            self._own_s += spent
        with self._file.open("a") as file:
            file.write(json.dumps([item.nodeid, took, spent]) + "\n")
        return done


def _own_cpu_s() -> float:
    return sum(os.times()[:4])


def _tree_cpu_s() -> float:
    """Of this process and all its descendants, those that have ended included."""
    children: dict[int, list[int]] = defaultdict(list)
    spent: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            children[int(fields[1])].append(int(entry.name))
            spent[int(entry.name)] = sum(map(int, fields[11:15])) / _TICKS
    todo, total = [os.getpid()], 0.0
    while todo:
        process = todo.pop()
        total += spent.get(process, 0.0)
        todo += children[process]
    return total


def tables(directory: Path) -> Iterator[str]:
    """Lines of Markdown: the costs of each area and of the dearest files, the dearest first."""
    areas: _Sums = defaultdict(lambda: [0, 0.0, 0.0])
    files: _Sums = defaultdict(lambda: [0, 0.0, 0.0])
    for written in directory.glob("*.jsonl"):
        for line in written.read_text().splitlines():
            node_id, took, spent = json.loads(line)
            for sums in (areas[area_of(node_id)], areas["all"], files[node_id.partition("::")[0]]):
                for column, value in enumerate((1, took, spent)):
                    sums[column] += value
    yield from _table("Area", areas)
    yield ""
    yield from _table("File", files, _DEAREST)


def _table(name: str, sums: _Sums, most: int | None = None) -> Iterator[str]:
    yield f"| {name} | Tests | Seconds of a worker | CPU seconds |"
    yield "| --- | --- | --- | --- |"
    for each, (count, took, spent) in sorted(sums.items(), key=lambda it: -it[1][2])[:most]:
        yield f"| {each} | {count:.0f} | {took:.0f} | {spent:.0f} |"
