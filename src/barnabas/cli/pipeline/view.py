"""What `barnabas pipeline` shows: a live table on a terminal, lines elsewhere, or JSON."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from barnabas.cli.base.output import log_line, print_json, print_line, print_table
from barnabas.quantities import human_size

if TYPE_CHECKING:
    from rich.console import Group

Status: TypeAlias = dict[str, Any]

_LINES_INTERVAL_S = 5.0
_STATE_STYLES = {"running": "green", "done": "green", "waiting": "yellow", "stopping": "yellow"}


class View(ABC):
    """Shows pipelines while they run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """A view that has something open closes it here."""
        return

    @abstractmethod
    def show(self, statuses: Sequence[Status], *, is_last: bool = False) -> None:
        """Show their current statuses; called several times a second."""


def view_for(*, as_json: bool, json_log: bool = False) -> View:
    """The view for this output."""
    if as_json:
        return JsonView()
    if json_log:
        return JsonLogView()
    return LiveView() if sys.stdout.isatty() else LinesView()


class LiveView(View):
    """A table that is redrawn in place."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live = Live(auto_refresh=False, redirect_stderr=False)
        self._shown: list[Status] = []

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, statuses: Sequence[Status], *, is_last: bool = False) -> None:
        counts_down = any(each["state"] == "waiting" for each in statuses)
        if is_last or counts_down or list(statuses) != self._shown:
            self._shown = list(statuses)
            self._live.update(live_table(statuses), refresh=True)


def live_table(statuses: Sequence[Status]) -> "Group":
    """A row for each pipeline, and the errors below."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("pipeline", overflow="fold", min_width=14)
    table.add_column("", no_wrap=True)
    for name in ("batch", "ms", "rows/s in", "out", "lag"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("watermark", no_wrap=True)
    table.add_column("state", justify="right", no_wrap=True)
    has_letters = any(each.get("dead_letters") for each in statuses)
    if has_letters:
        table.add_column("dead letters", justify="right", no_wrap=True)
    errors = []
    for each in statuses:
        style = _STATE_STYLES.get(each["state"], "red" if each["error"] else "dim")
        cells = (
            _count(each["batch"]),
            _count(each["batch_duration_ms"]),
            _count(each["rows_in_per_s"]),
            _count(each["rows_out_per_s"]),
            _count(each["lag"]),
            _watermark(each["watermark"])[len("2026-") :] or "-",
            f"{_count(each['state_rows'])}, {human_size(each['state_bytes'] or 0)}"
            if each["state_rows"]
            else "-",
        )
        letters = [_count(each.get("dead_letters"))] if has_letters else []
        table.add_row(each["pipeline"], Text(each["state"], style), *cells, *letters)
        errors += [Text(f"{each['pipeline']}: {rule}", "yellow") for rule in failed_rules(each)]
        if each["error"] is not None and each["state"] in ("waiting", "failed"):
            errors.append(Text(f"{each['pipeline']}: {_problem(each)}", "red"))
    return Group(table, *errors)


class LinesView(View):
    """A line for each pipeline every few seconds, and whenever its state changes."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[str, int | None, float]] = {}

    def show(self, statuses: Sequence[Status], *, is_last: bool = False) -> None:
        now = datetime.now().astimezone()
        for each in statuses:
            state, batch, at = self._shown.get(each["pipeline"], ("", None, 0.0))
            waited = is_last or now.timestamp() - at >= _LINES_INTERVAL_S
            if each["state"] != state or (each["batch"] != batch and waited):
                self._shown[each["pipeline"]] = (each["state"], each["batch"], now.timestamp())
                print_line(self._line(now, each))
        sys.stdout.flush()

    def _line(self, now: datetime, status: Status) -> str:
        return f"{now:%H:%M:%S} {line_of(status)}"


class JsonLogView(LinesView):
    """The same lines as JSON objects, for collectors of logs."""

    def _line(self, now: datetime, status: Status) -> str:
        del now
        level = {"waiting": "warning", "failed": "error"}.get(status["state"], "info")
        return log_line(level, line_of(status), **status)


def line_of(status: Status) -> str:
    """The status of a pipeline in one line."""
    parts = [status["pipeline"], status["state"]]
    if status["batch"] is not None:
        parts += [
            f"batch {status['batch']} in {status['batch_duration_ms']} ms",
            f"total in {_count(status['rows_in'])}, out {_count(status['rows_out'])}",
            f"rows/s {_count(status['rows_in_per_s'])}, {_count(status['rows_out_per_s'])}",
        ]
    if status["lag"] is not None:
        parts.append(f"lag {_count(status['lag'])}")
    if status["watermark"] is not None:
        parts.append(f"watermark {_watermark(status['watermark'])}")
    if status["state_rows"]:
        parts.append(f"state {_count(status['state_rows'])} rows")
    if status.get("dead_letters"):
        parts.append(f"dead letters {_count(status['dead_letters'])}")
    parts += failed_rules(status)
    if status["error"] is not None and status["state"] in ("waiting", "failed"):
        parts.append(_problem(status))
    return "  ".join(parts)


def failed_rules(status: Status) -> list[str]:
    """The rules that rows have failed, with how many."""
    return [
        f"{_count(each['failed'])} of {_count(each['failed'] + each['passed'])} rows failed "
        f"{each['rule']} ({each['on_failure']})"
        for each in status.get("expectations", ())
        if each["failed"]
    ]


def _problem(status: Status) -> str:
    """The error, and when the pipeline is restarted."""
    if status["next_start"] is None or status["state"] != "waiting":
        return f"error: {status['error']}"
    wait_s = max(status["next_start"] - time.time(), 0)
    return f"error (restart in {wait_s:.0f} s): {status['error']}"


class JsonView(View):
    """One JSON object per line, for each batch and state change."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[str, int | None]] = {}

    def show(self, statuses: Sequence[Status], *, is_last: bool = False) -> None:
        del is_last
        import json

        for each in statuses:
            now = (each["state"], each["batch"])
            if self._shown.get(each["pipeline"]) != now:
                self._shown[each["pipeline"]] = now
                print_line(json.dumps(each, ensure_ascii=False))
        sys.stdout.flush()


def print_statuses(statuses: Sequence[Status], *, as_json: bool) -> None:
    """Print statuses of pipelines that run or have run."""
    if as_json:
        print_json(statuses)
        return
    if not statuses:
        return
    print_table(
        (
            "pipeline",
            "state",
            "batch",
            "rows in",
            "rows out",
            "dead letters",
            "lag",
            "last batch",
            "error",
        ),
        [
            (
                each["pipeline"],
                each["state"],
                each["batch"],
                each["rows_in"],
                each["rows_out"],
                each.get("dead_letters"),
                each["lag"],
                _time(each["batch_ended"]),
                each["error"] if each["state"] in ("waiting", "failed", "died") else None,
            )
            for each in statuses
        ],
    )
    for each in statuses:
        for rule in failed_rules(each):
            print_line(f"{each['pipeline']}: {rule}")


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _watermark(text: str | None) -> str:
    return "-" if text is None else text.replace("T", " ").split(".")[0]


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")
