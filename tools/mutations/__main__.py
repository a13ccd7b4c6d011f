"""Tries each mutation of the catalog, and prints which test finds it.

    python -m tools.mutations --table docs/mutations.md --tier quick
    python -m tools.mutations --only fetch-beyond-high-watermark --tier all

Every mutation is applied to a copy of the repository in a temporary folder; the working tree is
only read. With `--table`, mutations that the table has as found are skipped unless named.
"""

import argparse
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.mutations.catalog import CATALOG
from tools.mutations.mutation import DoesNotApply, Mutation
from tools.mutations.results import format_table, read_table, write_table
from tools.mutations.tree import ROOT, Tree
from tools.mutations.trial import Limits, Trial, end_all, try_mutation


def main() -> int:
    options = _parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = _choose(options.only)
    for mutation in chosen:
        try:
            mutation.mutate(mutation.path(ROOT).read_text())
        except (DoesNotApply, FileNotFoundError) as error:
            sys.exit(f"error: {error}")
    results = read_table(options.table) if options.table else {}
    if not options.only:
        chosen = [each for each in chosen if not _is_done(results.get(each.name))]
    limits = Limits(options.tier, options.area_timeout, options.thorough)
    tried = _try_all(chosen, limits, options.jobs, results, options.table)
    print(format_table(tried))
    survivors = [name for name, trial in tried.items() if trial.found_by is None]
    print(f"{len(tried) - len(survivors)} found, {len(survivors)} survived", *survivors)
    return 1 if survivors else 0


def _try_all(
    chosen: Sequence[Mutation],
    limits: Limits,
    jobs: int,
    results: dict[str, Trial],
    table: Path | None,
) -> dict[str, Trial]:
    tried: dict[str, Trial] = {}
    lock = threading.Lock()
    waiting = iter(chosen)

    def work(directory: Path) -> None:
        tree = Tree(directory)
        while True:
            with lock:
                mutation = next(waiting, None)
            if mutation is None:
                return
            trial = try_mutation(tree, mutation, limits)
            with lock:
                tried[mutation.name] = results[mutation.name] = trial
                outcome = trial.found_by or "SURVIVED"
                print(f"{mutation.name}: {outcome} ({trial.seconds:.0f} s) {trial.note}".rstrip())
                sys.stdout.flush()
                if table is not None:
                    write_table(table, results)

    with (
        tempfile.TemporaryDirectory(prefix="barnabas-mutations-") as parent,
        ThreadPoolExecutor(jobs) as executor,
    ):
        trees = [executor.submit(work, Path(parent, f"tree-{i}")) for i in range(jobs)]
        try:
            for done in trees:
                done.result()
        except KeyboardInterrupt:
            end_all()
            raise
    return tried


def _choose(names: Sequence[str]) -> list[Mutation]:
    known = {mutation.name: mutation for mutation in CATALOG}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"error: no mutation {', '.join(unknown)}; see tools/mutations/entries")
    return [known[name] for name in names] if names else list(CATALOG)


def _is_done(trial: Trial | None) -> bool:
    return trial is not None and trial.found_by is not None


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutations")
    parser.add_argument("--tier", choices=("quick", "all"), default="quick", help="Tests to run")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="Mutations to try")
    parser.add_argument("--jobs", type=int, default=1, help="Copies that run at the same time")
    parser.add_argument("--table", type=Path, metavar="FILE", help="Page with results to update")
    parser.add_argument(
        "--area-timeout", type=float, default=240, metavar="SECONDS", help="Limit for one area"
    )
    parser.add_argument(
        "--thorough", action="store_true", help="Run the whole tier if no likely area finds it"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
