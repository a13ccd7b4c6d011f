"""The command `barnabas cluster top`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import Session
from barnabas.cli.base.output import print_json, print_line

if TYPE_CHECKING:
    from barnabas.diagnosis.rates import Rates, SortKey
    from barnabas.diagnosis.sample import Sampler

EPILOG = """\b
Keys: q quits; r, b, l and n sort by records, bytes, lag and name.
Example: barnabas cluster top --sort lag
"""
_WIDTH = 1_000
"""Of a page that goes to a pipe."""


async def top(
    session: Session,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Refresh interval.")
    ] = 1.0,
    sort: Annotated[
        str, typer.Option(metavar="KEY", help="Order: records, bytes, lag or name.")
    ] = "records",
    once: Annotated[
        bool, typer.Option("--once", help="Print the rates of one interval, and end.")
    ] = False,
) -> None:
    """Show what the cluster does right now.

    Brokers, topics, groups and their clients, busiest first. Rates come from the ends of logs and
    from committed offsets; bytes, connections and CPU from the metrics of nodes, where they can be
    reached. In a pipe, a page is printed after each interval until Ctrl-C.
    """
    from barnabas.cli.base.command import UsageError
    from barnabas.diagnosis.rates import SortKey
    from barnabas.diagnosis.sample import Sampler

    if sort not in {each.value for each in SortKey}:
        raise UsageError(f"--sort {sort}: use {', '.join(SortKey)}")
    order = SortKey(sort)
    async with session.connect(
        retry_timeout_ms=_RETRY_MS, request_timeout_ms=_REQUEST_MS, connect_timeout_ms=_CONNECT_MS
    ) as cluster:
        sampler = Sampler(cluster)
        if session.as_json or once or not sys.stdout.isatty():
            await _print(sampler, order, interval, once=once, as_json=session.as_json)
        else:
            await _show(sampler, order, interval)


_CONNECT_MS = 2_000
_REQUEST_MS = 10_000
_RETRY_MS = 5_000


async def _print(
    sampler: "Sampler", sort: "SortKey", interval: float, *, once: bool, as_json: bool
) -> None:
    """One page after each interval, for pipes and scripts."""
    import asyncio

    from barnabas.cli.cluster.top.page import page
    from barnabas.diagnosis.rates import rates_of

    before = await sampler.take()
    while True:
        await asyncio.sleep(interval)
        now = await sampler.take()
        rates = rates_of(before, now, sort)
        before = now
        if as_json:
            print_json(_as_json(rates))
        else:
            for line in page(rates, sort, _WIDTH, None):
                print_line(line)
            print_line()
        sys.stdout.flush()
        if once:
            return


async def _show(sampler: "Sampler", sort: "SortKey", interval: float) -> None:
    """Fill the terminal until q or Ctrl-C; a cluster that is away is waited for."""
    from time import monotonic

    from barnabas.cli.base.screen import Screen
    from barnabas.cli.cluster.top.page import page
    from barnabas.diagnosis.rates import SortKey, rates_of
    from barnabas.errors import BarnabasError

    keys = {each[0]: each for each in SortKey}
    before = now = await sampler.take()
    with Screen() as screen:
        while True:
            next_s = monotonic() + interval
            rates = rates_of(before, now, sort)
            screen.draw(page(rates, sort, *screen.size))
            while (key := await screen.key(next_s - monotonic())) is not None:
                if key in ("q", "\x04"):
                    return
                sort = keys.get(key, sort)
                screen.draw(page(rates_of(before, now, sort), sort, *screen.size))
            try:
                before, now = now, await sampler.take()
            except BarnabasError as error:
                screen.draw([f"waiting: {error}"])


def _as_json(rates: "Rates") -> dict[str, object]:
    return {
        "cluster_id": rates.cluster_id,
        "interval_s": round(rates.interval_s, 3),
        **{
            name: [row._asdict() for row in getattr(rates, name)]
            for name in ("brokers", "topics", "groups", "clients")
        },
    }
