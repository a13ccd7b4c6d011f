"""The plot: what Spark has counted, and how it went."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.demo.accounting import Account, Row, time_of
from examples.demo.stage import Stage
from examples.demo.traffic import PAGES


def draw(path: Path, stage: Stage, account: Account, views: Iterable[Row]) -> None:
    """As a PNG; `views` are the rows of the table that Spark has written."""
    mpl.use("agg")
    figure = Figure(figsize=(11, 8), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    _draw_counts(top, views, account)
    _draw_flow(bottom, stage)
    figure.savefig(path, dpi=110)


def _draw_counts(axes: Axes, rows: Iterable[Row], account: Account) -> None:
    """Bars are from the Parquet table, dots are what the website knows."""
    counted: defaultdict[str, defaultdict[datetime, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        counted[row["page"]][time_of(row["minute"])] += row["views"]
    sent: defaultdict[datetime, int] = defaultdict(int)
    for (_, minute), views in account.views.items():
        sent[minute] += views
    minutes = sorted(sent)
    first = minutes[0]
    places = [(minute - first) / timedelta(minutes=1) for minute in minutes]
    below = [0] * len(minutes)
    for page in PAGES:
        heights = [counted[page][minute] for minute in minutes]
        axes.bar(places, heights, 0.85, below, label=page)
        below = [a + b for a, b in zip(below, heights, strict=True)]
    axes.plot(places, [sent[minute] for minute in minutes], "k.", label="sent")
    axes.set_title("Page views per page and minute: counted by Spark (bars), sent (dots)")
    axes.set_xlabel(f"minute of the website, from {first:%H:%M} on")
    axes.set_ylabel("views")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")


def _draw_flow(axes: Axes, stage: Stage) -> None:
    samples = stage.samples
    times = [each.at_s for each in samples]
    axes.plot(times, [each.acknowledged for each in samples], "tab:green", label="acknowledged")
    axes.plot(times, [each.taken for each in samples], "tab:blue", label="processed by Spark")
    if stage.killed_s is not None:
        axes.axvline(stage.killed_s, color="tab:red", label="kill -9 of a node")
    if stage.whole_again_s is not None:
        axes.axvline(stage.whole_again_s, color="tab:red", ls=":", label="back, and in sync")
    axes.set_title("How it went")
    axes.set_xlabel("seconds")
    axes.set_ylabel("events")
    axes.legend(loc="upper left", fontsize="small")
