"""`barnabas groups lag --watch`: the lag of groups, again and again, and how fast it changes."""

import asyncio
import sys
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

from barnabas.cli.admin.group_lag import TopicLag, lag_by_topic
from barnabas.cli.base.output import print_json, print_line, table_lines
from barnabas.cli.base.screen import Screen
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BarnabasError

_COLUMNS = ("group", "topic", "behind", "lag", "change/s")
_KEYS = "q quit"


class Look(NamedTuple):
    """What was seen, and when."""

    at: float
    rows: list[TopicLag]


async def watch_lag(
    cluster: ClusterClient, groups: Sequence[str] | None, interval: float, *, as_json: bool
) -> None:
    """Until Ctrl-C, or q on a terminal."""
    now = await _look(cluster, groups)
    if as_json or not sys.stdout.isatty():
        before: Look | None = None
        while True:
            _print(before, now, as_json=as_json)
            await asyncio.sleep(interval)
            before, now = now, await _look(cluster, groups)
    with Screen() as screen:
        screen.draw(_page(None, now, *screen.size))
        while True:
            next_s = monotonic() + interval
            while (key := await screen.key(next_s - monotonic())) is not None:
                if key in ("q", "\x04"):
                    return
            try:
                before, now = now, await _look(cluster, groups)
                screen.draw(_page(before, now, *screen.size))
            except BarnabasError as error:
                screen.draw([f"waiting: {error}"])


async def _look(cluster: ClusterClient, groups: Sequence[str] | None) -> Look:
    rows = await lag_by_topic(cluster, groups)
    return Look(monotonic(), rows)


def changes(before: Look | None, now: Look) -> list[int | None]:
    """Records a second by which the lag of each row has grown; None if it is new."""
    if before is None:
        return [None] * len(now.rows)
    elapsed = max(now.at - before.at, 1e-3)
    lags = {(row.group, row.topic): row.lag for row in before.rows}
    return [
        round((row.lag - lag) / elapsed)
        if row.lag is not None and (lag := lags.get((row.group, row.topic))) is not None
        else None
        for row in now.rows
    ]


def _print(before: Look | None, now: Look, *, as_json: bool) -> None:
    rows = list(zip(now.rows, changes(before, now), strict=True))
    if as_json:
        print_json([row._asdict() | {"change_s": change} for row, change in rows])
    else:
        for line in table_lines(_COLUMNS, [(*row, change) for row, change in rows]):
            print_line(line)
        print_line()
    sys.stdout.flush()


def _page(before: Look | None, now: Look, width: int, height: int) -> list[str]:
    """The furthest behind first, as many as fit."""
    pairs = zip(now.rows, changes(before, now), strict=True)
    rows = sorted(((*row, change) for row, change in pairs), key=lambda row: -(row[3] or 0))
    room = max(1, height - 3)
    lines = table_lines(_COLUMNS, rows[:room])
    left_out = f"  {len(rows) - room} more" if len(rows) > room else ""
    return [
        "".join(each if each.isprintable() else "?" for each in line)[:width]
        for line in (f"{_KEYS}{left_out}", "", *lines)
    ]
