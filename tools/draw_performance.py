"""Draws docs/performance.svg from the tables in docs/performance.md; `--check` only compares.

The table after `<!-- chart: NAME -->` is a group of bars: a row of the table is a row of the chart,
and each column with a figure is a bar. Of `a; b` the first figure is drawn, that of 100 B records.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE = DOCS / "performance.md", DOCS / "performance.svg"

TITLES = {
    "clients": "Python clients: thousand records of 100 B per CPU second",
    "spark": "Spark: million rows of 100 B per second",
}
COLORS = ("#2563eb", "#7dabf8", "#d97706", "#9ca3af", "#d1d5db")
FONT = 'font-family="system-ui, sans-serif"'
WIDTH, LABELS, BAR, GAP = 860, 300, 13, 12
_TABLE = re.compile(r"<!-- chart: (\w+) -->\n((?:\|.*\n)+)")


class Row(NamedTuple):
    label: str
    figures: list[float | None]


def main() -> None:
    drawn = draw(PAGE.read_text())
    if "--check" in sys.argv[1:]:
        if not PICTURE.exists() or PICTURE.read_text() != drawn:
            raise SystemExit("run `make docs`: docs/performance.svg differs from performance.md")
    else:
        PICTURE.write_text(drawn)


def draw(page: str) -> str:
    """The picture: one chart below the other, each with a legend."""
    parts: list[str] = []
    top = 10
    for name, table in _TABLE.findall(page):
        series, rows = _read(table)
        chart, top = _chart(TITLES[name], series, rows, top)
        parts += chart
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" {FONT}>'
    background = f'<rect width="{WIDTH}" height="{top}" fill="white"/>'
    return "\n".join([head, background, *parts, "</svg>\n"])


def _read(table: str) -> tuple[list[str], list[Row]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    head, _, *body = cells
    series = [name for name in head[1:] if name != "ratio"]
    return series, [Row(row[0], [_figure(cell) for cell in row[1 : len(head)]]) for row in body]


def _figure(cell: str) -> float | None:
    number = cell.partition(";")[0].replace(",", "").strip()
    return float(number) if re.fullmatch(r"[\d.]+", number) else None


def _chart(title: str, series: list[str], rows: list[Row], top: int) -> tuple[list[str], int]:
    largest = max(figure for row in rows for figure in row.figures[: len(series)] if figure)
    scale = (WIDTH - LABELS - 90) / largest
    parts = [_text(10, top + 14, title, size=15, weight="bold")]
    left = 10
    for name, color in zip(series, COLORS, strict=False):
        parts.append(_bar(left, top + 26, 10, color))
        parts.append(_text(left + 15, top + 36, name))
        left += 15 + 8 * len(name) + 15
    y = top + 52
    for row in rows:
        bars = [
            (figure, color)
            for figure, color in zip(row.figures, COLORS[: len(series)], strict=False)
            if figure is not None
        ]
        parts.append(_text(10, y + BAR * len(bars) / 2 + 4, row.label))
        for figure, color in bars:
            length = max(1.0, figure * scale)
            parts.append(_bar(LABELS, y, length, color))
            parts.append(_text(LABELS + length + 5, y + BAR - 3, f"{figure:,g}", size=10))
            y += BAR
        y += GAP
    return parts, y + 10


def _bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{BAR - 2}" fill="{color}"/>'


def _text(x: float, y: float, text: str, *, size: int = 12, weight: str = "normal") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}"'
        f' fill="#111827">{escape(text)}</text>'
    )


if __name__ == "__main__":
    main()
