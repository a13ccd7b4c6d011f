"""The live view on a terminal, plain lines elsewhere, and the summary."""

from itertools import pairwise
from math import ceil
from statistics import median
from typing import Self

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.demo.counting import NAME as COUNTER
from examples.demo.ledger import Check
from examples.demo.stage import Stage

_EVENTS_SHOWN = 8
_OTHER_LINES = 21
_WIDE = 96
_PLAIN_EVERY_S = 1.0
_BARS = " ▁▂▃▄▅▆▇█"


class LiveView:
    """Redraws three tables and the latest events. Use it as a context manager."""

    def __init__(self, console: Console, stage: Stage) -> None:
        self._stage = stage
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._acknowledged: list[int] = []

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        for event in self._stage.events:
            self._live.console.print(f"{event.at_s:5.1f} s  {event.text}", highlight=False)

    def show(self) -> None:
        stage = self._stage
        self._acknowledged.append(len(stage.ledger.stored))
        room = self._live.console.height - _OTHER_LINES
        beside = Table.grid(expand=True)
        beside.add_row(_nodes(stage), _processes(stage, self._live.console.width >= _WIDE))
        title = f"{stage.topic}: {len(stage.cluster.up)} nodes, {stage.elapsed_s:.0f} s"
        content = Group(
            beside,
            _partitions(stage),
            _throughput(self._acknowledged),
            Text(" counts  ", "bold").append(_transactions(stage), "not bold"),
            _events(stage, room),
        )
        self._live.update(Panel(content, title=title, box=ROUNDED), refresh=True)


class PlainView:
    """A line a second, and one for every event: for pipes and build logs."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._next_s = 0.0
        self._told = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tell_events()

    def show(self) -> None:
        stage = self._stage
        self._tell_events()
        stored = len(stage.ledger.stored)
        rate = stage.rate("shop", stored)
        if stage.elapsed_s < self._next_s:
            return
        self._next_s = stage.elapsed_s + _PLAIN_EVERY_S
        nodes = " ".join(f"{node}" if up else f"({node})" for node, up in stage.cluster.up.items())
        in_sync = sum(map(len, stage.cluster.in_sync.values()))
        replicas = sum(map(len, stage.cluster.replicas.values()))
        groups = ", ".join(
            f"{group} {stage.ledger.count(group):,} (lag {stage.lag(group):,})"
            for group in stage.groups
        )
        print(
            f"[{stage.elapsed_s:4.1f} s] nodes {nodes}, in sync {in_sync} of {replicas}; "
            f"acknowledged {stored:,} ({rate:,.0f}/s); {groups}; counted {_transactions(stage)}",
            flush=True,
        )

    def _tell_events(self) -> None:
        for event in self._stage.events[self._told :]:
            print(f"[{event.at_s:4.1f} s] {event.text}", flush=True)
        self._told = len(self._stage.events)


def _table(*headers: str) -> Table:
    """A header that begins with > stands over a column of figures."""
    table = Table(box=SIMPLE_HEAD, expand=True, show_edge=False)
    for header in headers:
        figures = header.startswith(">")
        table.add_column(
            header.removeprefix(">"), justify="right" if figures else "left", no_wrap=True
        )
    return table


def _nodes(stage: Stage) -> Table:
    table = _table("node", "", ">leads", ">in sync")
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


def _processes(stage: Stage, wide: bool) -> Table:
    headers = ("process", "made with", ">records", ">/s")
    table = _table(*(headers if wide else (headers[0], *headers[2:])))
    ledger = stage.ledger
    rows = [("shop", "confluent-kafka", len(ledger.stored))]
    rows += [(each.name, each.client, len(each.seen)) for each in ledger.readers.values()]
    rows.append((COUNTER, "confluent-kafka", stage.tally.counted))
    for name, client, count in rows:
        figures = (f"{count:,}", f"{stage.rate(name, count):,.0f}")
        table.add_row(name, *((client, *figures) if wide else figures))
    return table


def _partitions(stage: Stage) -> Table:
    headers = [header for group in stage.groups for header in (group, ">lag")]
    table = _table(">partition", ">leader", "in sync", ">records", *headers)
    cluster, ledger = stage.cluster, stage.ledger
    for partition, leader in cluster.leaders.items():
        groups = [
            cell
            for group in stage.groups
            for cell in (stage.owner(group, partition), f"{ledger.lag(group, partition):,}")
        ]
        in_sync = cluster.in_sync[partition]
        whole = len(in_sync) == len(cluster.replicas[partition])
        table.add_row(
            str(partition),
            str(leader) if leader in cluster.up else Text("none", "red"),
            Text(" ".join(map(str, in_sync)), "" if whole else "yellow"),
            f"{ledger.ends[partition]:,}",
            *groups,
        )
    return table


def _throughput(acknowledged: list[int]) -> Text:
    """A bar for each fifth of a second or so: the gaps are the pauses."""
    written = [after - before for before, after in pairwise(acknowledged)][-60:]
    usual = median(written) if written else 0
    scale = (len(_BARS) - 2) / max(usual, 1)  # what was held back comes all at once: above usual
    bars = (_BARS[min(ceil(count * scale), len(_BARS) - 1)] for count in written)
    return Text(" writes  ", "bold").append("".join(bars), "green")


def _transactions(stage: Stage) -> str:
    tally = stage.tally
    return (
        f"{tally.counted:,} in {tally.count('committed')} transactions, "
        f"{tally.count('abandoned')} abandoned"
    )


def _events(stage: Stage, room: int) -> RenderableType:
    latest = stage.events[-min(max(room, 1), _EVENTS_SHOWN) :]
    text = "\n".join(f"{event.at_s:5.1f} s  {event.text}" for event in latest)
    return Text(f"\n{text}", no_wrap=True, overflow="ellipsis")


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
