"""Rates as lines of text that fit a terminal."""

from collections.abc import Sequence

from barnabas.diagnosis.rates import Rates, SortKey
from barnabas.quantities import human_size

Row = tuple[str, ...]

_HEAD_LINES = 2
_LINES_AROUND = 2
"""The heading of a table, and the empty line before it."""
_WIDEST_NAME = 40


def page(rates: Rates, sort: SortKey, width: int, height: int | None) -> list[str]:
    """All tables. With a height each gets its share of it; without, all rows are shown."""
    tables = _tables(rates)
    shown = _share([len(rows) for _, rows in tables], height)
    lines = [f"cluster {rates.cluster_id}  last {rates.interval_s:.1f} s, sorted by {sort}"]
    if height is not None:
        lines.append("q quit  r records  b bytes  l lag  n name")
    for (heading, rows), count in zip(tables, shown, strict=True):
        lines.append("")
        lines += _aligned(heading, rows[:count], len(rows) - count)
    return [line[:width].rstrip() for line in lines][:height]


def _tables(rates: Rates) -> list[tuple[Row, list[Row]]]:
    return [
        (
            ("BROKER", "LEADERS", "RECORDS/S", "IN/S", "OUT/S", "SIZE", "CONNECTIONS", "CPU"),
            [
                (
                    str(row.node_id),
                    str(row.leaders),
                    _number(row.records_s),
                    _size(row.bytes_in_s),
                    _size(row.bytes_out_s),
                    human_size(row.size),
                    "-" if row.connections is None else str(row.connections),
                    "-" if row.cpu_percent is None else f"{row.cpu_percent:.0f} %",
                )
                for row in rates.brokers
            ],
        ),
        (
            ("TOPIC", "PARTITIONS", "RECORDS/S", "IN/S", "OUT/S", "SIZE"),
            [
                (
                    _name(row.topic),
                    str(row.partitions),
                    _number(row.records_s),
                    _size(row.bytes_in_s),
                    _size(row.bytes_out_s),
                    human_size(row.size),
                )
                for row in rates.topics
            ],
        ),
        (
            ("GROUP", "STATE", "MEMBERS", "READ/S", "LAG"),
            [
                (
                    _name(row.group_id),
                    row.state,
                    str(row.members),
                    _number(row.read_s),
                    "-" if row.lag is None else f"{row.lag:,}",
                )
                for row in rates.groups
            ],
        ),
        (
            ("CLIENT", "HOST", "GROUP", "PARTITIONS", "READ/S", "LAG"),
            [
                (
                    _name(row.client_id),
                    row.host,
                    _name(row.group_id),
                    str(row.partitions),
                    _number(row.read_s),
                    "-" if row.lag is None else f"{row.lag:,}",
                )
                for row in rates.clients
            ],
        ),
    ]


_TEXT_COLUMNS = frozenset(["BROKER", "TOPIC", "GROUP", "CLIENT", "STATE", "HOST"])


def _aligned(heading: Row, rows: Sequence[Row], left_out: int) -> list[str]:
    first = f"{heading[0]} (+{left_out})" if left_out else heading[0]
    cells = [(first, *heading[1:]), *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_text = [title in _TEXT_COLUMNS for title in heading]
    return [
        "  ".join(
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(row, widths, is_text, strict=True)
        )
        for row in cells
    ]


def _share(wanted: Sequence[int], height: int | None) -> list[int]:
    """How many rows each table gets: what it wants, or a fair share of what there is."""
    if height is None:
        return list(wanted)
    room = max(0, height - _HEAD_LINES - _LINES_AROUND * len(wanted))
    given = [0] * len(wanted)
    while room and any(has < wants for has, wants in zip(given, wanted, strict=True)):
        for at, wants in enumerate(wanted):
            if room and given[at] < wants:
                given[at] += 1
                room -= 1
    return given


def _name(name: str) -> str:
    """A name that leaves room for the rest, and can't send commands to the terminal."""
    clean = "".join(each if each.isprintable() else "?" for each in name)
    return clean if len(clean) <= _WIDEST_NAME else f"{clean[: _WIDEST_NAME - 3]}..."


def _number(rate: float) -> str:
    return f"{rate:,.0f}"


def _size(rate: float | None) -> str:
    return "-" if rate is None else human_size(int(rate))
