"""`python -m tests.run`: what `make test`, `make test-all` and CI run.

Most tests run in parallel; those that need the machine to themselves (`@pytest.mark.alone`) run
after them, one by one. More workers than cores: most tests wait for a process or a client.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.reach import changed_files, reached_areas
from tests.support import costs
from tests.support.areas import REST_S, all_areas, paths

_INTERRUPTED = 2
_NO_TESTS = 5
_SLOWEST = 10


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="what a change can break: `make test`")
    parser.add_argument("--rest", action="store_true", help="only what --quick leaves out")
    parser.add_argument("--no-long", action="store_true", help="without the long tests")
    parser.add_argument("--area", metavar="A,B", help=f"of {', '.join(all_areas())}")
    parser.add_argument(
        "--reached",
        metavar="MINUTES",
        type=float,
        help="only areas that the last changes can reach, as many as MINUTES allow",
    )
    parser.add_argument("--shuffle", metavar="SEED", help="in a random order, which SEED repeats")
    parser.add_argument(
        "--costs", action="store_true", help="print what each area and the dearest files cost"
    )
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 2) + 4)
    given = parser.parse_args(arguments)
    areas = given.area.split(",") if given.area else all_areas()
    unknown = sorted(set(areas) - set(all_areas()))
    if unknown:
        parser.error(f"unknown area {unknown[0]}; use {', '.join(all_areas())}")
    if given.reached is not None:
        areas = _choose(areas, given.reached * 60)
        if not areas:
            return 0
    command = [sys.executable, "-m", "pytest", "--by-area", "--durations", str(_SLOWEST)]
    command += ["--quick"] if given.quick else []
    command += ["--rest"] if given.rest else []
    command += ["--shuffle", given.shuffle] if given.shuffle else []
    parallel = ["--workers", str(given.workers), "--dist", "loadgroup"]
    short = " and not long" if given.no_long else ""
    parallel += ["-m", f"not alone{short}"]
    with TemporaryDirectory() as directory:
        if given.costs:
            os.environ[costs.VARIABLE] = directory
        code = _run([*command, *parallel, *paths(areas)])
        alone = _files_with_tests_that_run_alone(paths(areas))
        if alone and code != _INTERRUPTED:
            code = max(code, _run([*command, "-m", f"alone{short}", *alone]))
        if given.costs:
            print("", *costs.tables(Path(directory)), sep="\n")
    return code


def _choose(areas: list[str], seconds: float) -> list[str]:
    """The nearest to the change, as many as there is time for; says which, and what is left out."""
    chosen: list[str] = []
    left_out: list[str] = []
    for area in reached_areas(changed_files()):
        cost = REST_S.get(area, 0)
        if area in areas and cost <= seconds:
            chosen.append(area)
            seconds -= cost
        elif area in areas:
            left_out.append(area)
    unreached = [area for area in areas if area not in {*chosen, *left_out}]
    print("beyond `make test`, tested here:", ", ".join(chosen) or "nothing")
    print("left out, as this change can't reach it:", ", ".join(unreached) or "nothing")
    print("left out for time (make test-all AREA=…):", ", ".join(left_out) or "nothing", flush=True)
    return sorted(chosen, key=areas.index)


def _files_with_tests_that_run_alone(given: list[str]) -> list[str]:
    """So that pytest need not load all others once more to find them."""
    found = [file for path in map(Path, given) for file in sorted({path, *path.rglob("test_*.py")})]
    return [str(file) for file in found if file.is_file() and "mark.alone" in file.read_text()]


def _run(command: list[str]) -> int:
    with subprocess.Popen(command) as running:
        try:
            code = running.wait()
        except KeyboardInterrupt:  # pytest has had it too, and says what it did until then
            running.wait()
            return _INTERRUPTED
    return 0 if code == _NO_TESTS else code  # an area may have none of this kind


if __name__ == "__main__":
    sys.exit(main())
