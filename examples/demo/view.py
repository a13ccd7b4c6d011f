"""The live view on a terminal, plain lines elsewhere, and the summary."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Protocol, Self

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.demo.accounting import Check, Row
from examples.demo.stage import COUNTING, Sample, Stage

_SHOWN = 8
_OTHER_LINES = 22
_PLAIN_EVERY_S = 2.0
_PLAIN_AT_LEAST_EVERY_S = 10.0
_BARS = " ▁▂▃▄▅▆▇█"


class View(Protocol):
    """Something that shows the stage."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self) -> None: ...


class LiveView:
    """Redraws tables and the latest happenings. Use it as a context manager."""

    def __init__(self, console: Console, stage: Stage) -> None:
        self._stage = stage
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        for each in self._stage.happenings:
            self._live.console.print(f"{each.at_s:5.1f} s  {each.text}", highlight=False)

    def show(self) -> None:
        self._live.update(picture(self._stage, self._live.console.height), refresh=True)


def picture(stage: Stage, height: int) -> Panel:
    """All there is to see at this moment."""
    content = Group(
        _nodes(stage),
        _pipelines(stage),
        _throughput(stage.samples),
        _happenings(stage, height - _OTHER_LINES),
    )
    website = stage.website
    title = (
        f"{website.clock:%H:%M} on the website, {len(website.sent):,} events sent, "
        f"{stage.elapsed_s:.0f} s"
    )
    where = None if stage.console is None else f"console: {stage.console}"
    return Panel(content, title=title, subtitle=where, box=ROUNDED)


class PlainView:
    """A line now and then, and one for every happening: for pipes and build logs."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._next_s = 0.0
        self._last = ""
        self._told = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tell()

    def show(self) -> None:
        stage = self._stage
        self._tell()
        if stage.elapsed_s < self._next_s or not stage.cluster.up:
            return
        nodes = " ".join(f"{node}" if up else f"({node})" for node, up in stage.cluster.up.items())
        line = (
            f"the website's clock {stage.website.clock:%H:%M}; nodes {nodes}; "
            f"events {stage.website.acknowledged:,}, taken by Spark "
            f"{stage.taken:,}; "
            f"counts {stage.figure(COUNTING, 'rows_out'):,}, "
            f"clicks joined {stage.figure('clicked_views', 'rows_out'):,}, "
            f"orders {stage.figure('ordered_views', 'rows_out'):,}, "
            f"dead letters {stage.figure(COUNTING, 'dead_letters'):,}"
        )
        if line != self._last or stage.elapsed_s > self._next_s + _PLAIN_AT_LEAST_EVERY_S:
            print(f"[{stage.elapsed_s:4.1f} s] {line}", flush=True)
            self._last = line
            self._next_s = stage.elapsed_s + _PLAIN_EVERY_S

    def _tell(self) -> None:
        for each in self._stage.happenings[self._told :]:
            print(f"[{each.at_s:4.1f} s] {each.text}", flush=True)
        self._told = len(self._stage.happenings)


def _table(*headers: str) -> Table:
    """A header that begins with > stands over a column of figures."""
    table = Table(box=SIMPLE_HEAD, expand=True, show_edge=False, padding=(0, 1, 0, 0))
    for header in headers:
        figures = header.startswith(">")
        table.add_column(
            header.removeprefix(">"), justify="right" if figures else "left", no_wrap=True
        )
    return table


def _nodes(stage: Stage) -> Table:
    table = _table("node", "", f">leads of {stage.topic}", ">in sync")
    cluster = stage.cluster
    for node_id, up in cluster.up.items():
        controls = up and node_id == cluster.controller
        table.add_row(
            Text(f"node {node_id}", "green" if up else "red"),
            "controller" if controls else "" if up else Text("gone", "red"),
            str(cluster.led_by(node_id)),
            str(cluster.synced_by(node_id)),
        )
    return table


def _pipelines(stage: Stage) -> Table:
    table = _table("pipeline", ">batch ms", ">rows in", ">out", ">lag", ">watermark")
    for each in stage.pipelines.values():
        figures = [each[name] for name in ("batch_duration_ms", "rows_in", "rows_out", "lag")]
        is_well = each["state"] == "running"
        table.add_row(
            Text(each["pipeline"], "green" if is_well else "yellow"),
            *("-" if figure is None else f"{figure:,}" for figure in figures),
            (each["watermark"] or "")[len("2026-01-01T") :][:5] or "-",
        )
    if not stage.pipelines:
        table.add_row("Spark is starting", *[""] * 5)
    return table


def _throughput(samples: list[Sample]) -> Text:
    """A bar for each fifth of a second or so: the gaps are the pauses."""
    written = [b.acknowledged - a.acknowledged for a, b in pairwise(samples)][-60:]
    usual = median(filter(None, written)) if any(written) else 0
    scale = (len(_BARS) - 2) / max(usual, 1)  # what was held back comes all at once: above usual
    bars = (_BARS[min(ceil(count * scale), len(_BARS) - 1)] for count in written)
    return Text(" writes  ", "bold").append("".join(bars), "green")


def _happenings(stage: Stage, room: int) -> RenderableType:
    latest = stage.happenings[-min(max(room, 1), _SHOWN) :]
    text = "\n".join(f"{each.at_s:5.1f} s  {each.text}" for each in latest)
    return Text(f"\n{text}", no_wrap=True, overflow="ellipsis")


def show_pages(console: Console, views: Iterable[Row], clicks: Iterable[Row]) -> None:
    """What the tables say, in short: which pages people like, and how long they think."""
    viewed: Counter[str] = Counter()
    for row in views:
        viewed[row["page"]] += row["views"]
    waited: defaultdict[str, list[float]] = defaultdict(list)
    for row in clicks:
        waited[row["page"]].append(row["seconds"])
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("page")
    for header in ("views", "clicks", "per view", "seconds before the click"):
        table.add_column(header, justify="right")
    for page, count in viewed.most_common():
        seconds = waited[page]
        table.add_row(
            page,
            f"{count:,}",
            f"{len(seconds):,}",
            f"{len(seconds) / count:.0%}",
            f"{median(seconds):.0f}" if seconds else "-",
        )
    console.print(table)


def show_summary(console: Console, checks: list[Check]) -> None:
    """Whether what happened is what was promised."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("promise", overflow="fold")
    table.add_column("evidence", overflow="fold")
    for check in checks:
        mark = Text("ok", "bold green") if check.kept else Text("BROKEN", "bold red")
        table.add_row(mark, check.promise, check.evidence)
    console.print(table)
