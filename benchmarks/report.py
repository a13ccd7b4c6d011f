"""The table at the end, and the same for machines."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.bench import BASELINE, CLUSTER, CONNECTOR, Row
from benchmarks.brokers import BARNABAS


def print_table(
    console: Console, contenders: Sequence[str], rows: Mapping[str, list[Row]], seconds: float
) -> None:
    table = Table(title=f"{machine()}, {seconds:.0f} s", title_justify="left")
    table.add_column("Measurement")
    table.add_column("unit")
    for name in contenders:
        table.add_column(name, justify="right", style="bold" if name in (BARNABAS, CLUSTER) else "")
    table.add_column("ratio", justify="right")
    table.add_column("promise", justify="right")
    for of_measurement in rows.values():
        for row in of_measurement:
            values = [_cell(row, name) for name in contenders]
            ratio = "" if row.ratio is None else f"{row.ratio:.2f}x"
            table.add_row(row.what, row.unit, *values, ratio, _promise(row))
        table.add_section()
    console.print(table)


def _cell(row: Row, name: str) -> str:
    """A figure; that of the connector alone with its own ratio."""
    value, beside = row.values.get(name), row.values.get(BASELINE)
    if name == CONNECTOR and value is not None and beside:
        return f"{_number(value)} ({value / beside:.2f}x)"
    return _number(value)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _promise(row: Row) -> str:
    if row.kept is None:
        return ""
    if row.at_least_ratios:
        return f"[red]{', '.join(row.missed)}: BROKEN[/]" if row.missed else "[green]kept[/]"
    limit = f"{row.at_most:g} {row.unit}" if row.at_most else f"{row.at_most_ratio:g}x"
    return f"[green]<= {limit} kept[/]" if row.kept else f"[red]<= {limit} BROKEN[/]"


def write_json(path: Path, rows: Mapping[str, list[Row]]) -> None:
    measurements = {
        name: [
            {
                "what": row.what,
                "unit": row.unit,
                "values": dict(row.values),
                "ratio": row.ratio,
                "kept": row.kept,
            }
            for row in of_measurement
        ]
        for name, of_measurement in rows.items()
    }
    document = {"machine": machine(), "measurements": measurements}
    path.write_text(json.dumps(document, indent=2) + "\n")


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}"
    )
