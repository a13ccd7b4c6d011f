"""The table of results, in Markdown: printed, and kept in a file so that a run can be continued."""

import re
from collections.abc import Mapping
from pathlib import Path

from tools.mutations.catalog import CATALOG
from tools.mutations.trial import Trial

BEGIN = "<!-- table: written by python -m tools.mutations -->"
END = "<!-- end -->"
_HEAD = "| Mutation | What breaks | Found by | Seconds | Tier |\n| --- | --- | --- | ---: | --- |\n"
_ROW = re.compile(r"\| `([^`]+)` \| .* \| (?:`(.+)`|survived)(?: \((.*)\))? \| (\d+) \| (\w+) \|")
_PIPE = "&#124;"


def read_table(file: Path) -> dict[str, Trial]:
    """Results by the name of the mutation; those of entries that are gone are left out."""
    names = {mutation.name for mutation in CATALOG}
    results = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        row = _ROW.fullmatch(line)
        if row is not None and row[1] in names:
            found_by = row[2].replace(_PIPE, "|") if row[2] else None
            results[row[1]] = Trial(found_by, float(row[4]), row[5], row[3] or "")
    return results


def format_table(results: Mapping[str, Trial]) -> str:
    lines = []
    for mutation in CATALOG:
        trial = results.get(mutation.name)
        if trial is not None:
            found = f"`{trial.found_by.replace('|', _PIPE)}`" if trial.found_by else "survived"
            note = f" ({trial.note})" if trial.note else ""
            lines.append(
                f"| `{mutation.name}` | {mutation.breaks} | {found}{note} "
                f"| {trial.seconds:.0f} | {trial.tier} |\n"
            )
    return _HEAD + "".join(lines)


def format_summary(results: Mapping[str, Trial]) -> str:
    """How many were found, and by which tier: all tests include those of `make test`."""
    tried = [results[mutation.name] for mutation in CATALOG if mutation.name in results]
    found = [trial for trial in tried if trial.found_by is not None]
    quick = sum(trial.tier == "quick" for trial in found)
    return (
        f"Of {len(CATALOG)} mutations {len(tried)} were tried. `make test` finds {quick}, "
        f"`make test-all` {len(found)}; {len(tried) - len(found)} survived.\n"
    )


def write_table(file: Path, results: Mapping[str, Trial]) -> None:
    """Replace the summary and the table of a page, or write a page with nothing else."""
    page = file.read_text() if file.exists() else f"{BEGIN}\n{END}\n"
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{file} lacks the lines {BEGIN} and {END}")
    written = f"{format_summary(results)}\n{format_table(results)}"
    file.write_text(f"{before}{BEGIN}\n\n{written}\n{END}{after}")
