"""What commands print: tables for people, aligned text for pipes, JSON for scripts.

Results go to stdout, everything said about them to stderr.
"""

import contextlib
import sys
from collections.abc import Iterable, Sequence

Cell = str | int | None

_ERROR = "error: "
_says_json = False


def say_json() -> None:
    """From now on, say each thing as a JSON object in a line, for collectors of logs."""
    global _says_json  # noqa: PLW0603 - one process, one standard error
    _says_json = True


def log_line(level: str, message: str, **fields: object) -> str:
    """A line of a log as a JSON object."""
    import json
    from datetime import UTC, datetime

    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": at, "level": level, "message": message, **fields})


def say(text: str) -> None:
    """Print a message for the user that is not a result."""
    if _says_json:
        level = "error" if text.startswith(_ERROR) else "info"
        text = log_line(level, text.removeprefix(_ERROR))
    with contextlib.suppress(OSError):  # a full disk or a closed pipe must not end a supervisor
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def print_line(text: str = "") -> None:
    """Print one line of a result."""
    sys.stdout.write(f"{text}\n")


def print_json(value: object) -> None:
    """Print a result for scripts: indented on a terminal, in one line elsewhere."""
    import json

    indent = 2 if sys.stdout.isatty() else None
    print_line(json.dumps(value, indent=indent, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Print rows under their columns; columns of numbers are set to the right."""
    if sys.stdout.isatty():
        cells = _cells(rows)
        _print_rich(columns, cells, _numeric(columns, cells))
    else:
        for line in table_lines(columns, rows):
            print_line(line)


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> list[str]:
    """A table as lines of text, without colours or a frame."""
    cells = _cells(rows)
    lines = [[column.upper().replace(" ", "_") for column in columns]]
    lines += [[str(cell) or "-" for cell in row] for row in cells]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    numeric = _numeric(columns, cells)
    return [
        "  ".join(
            text.rjust(width) if is_numeric else text.ljust(width)
            for text, width, is_numeric in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    ]


def _cells(rows: Iterable[Sequence[Cell]]) -> list[tuple[str | int, ...]]:
    return [tuple("-" if cell is None else cell for cell in row) for row in rows]


def _numeric(columns: Sequence[str], cells: Sequence[Sequence[str | int]]) -> list[bool]:
    return [
        any(isinstance(row[at], int) for row in cells)
        and all(isinstance(row[at], int) or row[at] == "-" for row in cells)
        for at in range(len(columns))
    ]


def _print_rich(
    columns: Sequence[str], cells: Sequence[Sequence[str | int]], numeric: Sequence[bool]
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, is_numeric in zip(columns, numeric, strict=True):
        table.add_column(column, justify="right" if is_numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)
