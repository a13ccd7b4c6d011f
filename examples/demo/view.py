"""The live view on a terminal, plain lines elsewhere, and the summary."""

from typing import Self

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.demo.ledger import Check
from examples.demo.stage import Stage

_EVENTS_SHOWN = 8
_PLAIN_EVERY_S = 1.0


class LiveView:
    """Redraws two tables and the latest events. Use it as a context manager."""

    def __init__(self, console: Console, stage: Stage) -> None:
        self._stage = stage
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        for event in self._stage.events:
            self._live.console.print(f"{event.at_s:5.1f} s  {event.text}", highlight=False)

    def show(self) -> None:
        stage = self._stage
        title = f"{stage.topic} on {stage.bootstrap}, {stage.elapsed_s:.0f} s"
        content = Group(_partitions(stage), _members(stage), _events(stage))
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
        if stage.elapsed_s < self._next_s:
            return
        self._next_s = stage.elapsed_s + _PLAIN_EVERY_S
        groups = ", ".join(
            f"{group} {stage.ledger.count(group):,}"
            f" (lag {sum(stage.lag(group, each) for each in stage.snapshot.ends):,})"
            for group in stage.groups
        )
        stored = sum(stage.snapshot.ends.values())
        print(f"[{stage.elapsed_s:4.1f} s] stored {stored:,}; {groups}", flush=True)

    def _tell_events(self) -> None:
        for event in self._stage.events[self._told :]:
            print(f"[{event.at_s:4.1f} s] {event.text}", flush=True)
        self._told = len(self._stage.events)


def _partitions(stage: Stage) -> Table:
    table = Table(box=SIMPLE_HEAD, expand=True)
    table.add_column("partition", justify="right")
    table.add_column("end", justify="right")
    for group in stage.groups:
        table.add_column(group)
        table.add_column("position", justify="right")
        table.add_column("lag", justify="right")
    for partition, end in sorted(stage.snapshot.ends.items()):
        row = [str(partition), f"{end:,}"]
        for group in stage.groups:
            position = stage.ledger.position(group, partition)
            row += [
                stage.owner(group, partition),
                f"{position:,}",
                f"{stage.lag(group, partition):,}",
            ]
        table.add_row(*row)
    return table


def _members(stage: Stage) -> Table:
    table = Table(box=SIMPLE_HEAD, expand=True)
    table.add_column("process")
    table.add_column("made with")
    table.add_column("partitions")
    table.add_column("records", justify="right")
    table.add_column("records/s", justify="right")
    ledger = stage.ledger
    sent = len(ledger.stored)
    table.add_row("shop", "confluent-kafka", "by user", f"{sent:,}", _rate(stage, "shop", sent))
    for reader in ledger.readers.values():
        count = len(reader.seen)
        table.add_row(
            reader.name,
            reader.client,
            " ".join(map(str, stage.partitions_of(reader))) or "-",
            f"{count:,}",
            _rate(stage, reader.name, count),
        )
    return table


def _rate(stage: Stage, name: str, count: int) -> str:
    return f"{stage.rate(name, count):,.0f}"


def _events(stage: Stage) -> RenderableType:
    latest = stage.events[-_EVENTS_SHOWN:]
    return Text("\n".join(f"{event.at_s:5.1f} s  {event.text}" for event in latest))


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
