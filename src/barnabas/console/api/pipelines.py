"""Pipelines that report to the cluster, those of this machine, and one with its plots."""

import asyncio
import socket
from contextlib import suppress
from http import HTTPStatus
from time import time
from typing import Any

from barnabas.console.access.permission import check_cluster_access
from barnabas.console.answers import ApiError
from barnabas.console.endpoint import Call, Endpoint, Parameter
from barnabas.console.messages.masking import Masks
from barnabas.console.watch.pipelines import LOST, SERIES, Followed
from barnabas.errors import NotAuthorized
from barnabas.flow.reports import Report, checked, key_of
from barnabas.wire.acl_codes import AclOperation

_ENDED = ("stopped", "done", LOST, "died")
_SHOWN_MS = 3600_000
"""For how long those that have ended stay on the page."""
_HIDDEN = "(its reason is not shown: a topic that it reads is masked)"

ENDED = Parameter("ended", "boolean", "Also those that ended over an hour ago.", default=False)


async def list_pipelines(call: Call) -> dict[str, Any]:
    """All, by name."""
    found = await pipelines_of(call)
    watch = call.cluster.watch
    return {
        "error": watch.pipelines.error,
        "hidden": len(watch.pipelines.followed) - sum(each["reported"] for each in found),
        "pipelines": found,
    }


async def show_pipeline(call: Call) -> dict[str, Any]:
    """One, with points of its plots."""
    await call.cluster.watch.look()
    wanted = call.text("id")
    one = call.cluster.watch.pipelines.followed.get(wanted)
    if one is not None:
        since = call.number("since")
        points = [each for each in one.points if (each[0] or 0) > since]
        return {**_reported(call, wanted, one), "series": ["at_ms", *SERIES], "points": points}
    for each in await _of_this_machine(call):
        if each["id"] == wanted:
            return {**each, "series": [], "points": []}
    raise ApiError(
        HTTPStatus.NOT_FOUND,
        "there is no such pipeline",
        "It has not reported for a week, or never; look at the list of pipelines.",
    )


async def pipelines_of(call: Call) -> list[dict[str, Any]]:
    """Those that report, and those of this machine that do not."""
    await call.cluster.watch.look()
    oldest_ms = 0 if call.flag("ended") else int(time() * 1000) - _SHOWN_MS
    found = {
        key: _reported(call, key, each)
        for key, each in call.cluster.watch.pipelines.followed.items()
        if each.state not in _ENDED or each.heard_ms >= oldest_ms
    }
    for each in await _of_this_machine(call):
        found.setdefault(each["id"], each)
    return sorted(found.values(), key=lambda each: (each["pipeline"], each["id"]))


def _reported(call: Call, key: str, one: Followed) -> dict[str, Any]:
    shown = without_masked(one.report, Masks(call.options.masks))
    lag = {} if one.lag is None else {"lag": one.lag, "lag_s": one.lag_s}
    return {
        **shown,
        **lag,
        "id": key,
        "state": one.state,
        "heard_ms": one.heard_ms,
        "reported": True,
        "letters_per_s": _letter_rate(one),
    }


def without_masked(report: Report, masks: Masks) -> Report:
    """An error may quote a record: of masked topics only its place in the code is shown.

    An answer to a request may quote an error, after a colon.
    """
    topics = [name for kind, name in report["reads"] if kind == "topic"]
    if not any(map(masks.cover, topics)):
        return report
    shown = {**report}
    if report["error"] is not None:
        place, separator, _ = report["error"].partition(": ")
        is_place = separator and place.rpartition(":")[2].isdecimal()
        shown["error"] = f"{place}: {_HIDDEN}" if is_place else _HIDDEN
    if report["answer"] is not None:
        said, separator, _ = report["answer"].partition(":")
        shown["answer"] = f"{said}: {_HIDDEN}" if separator else said
    return shown


def _letter_rate(one: Followed) -> float | None:
    """Dead letters per second, over the last points."""
    at = 1 + SERIES.index("dead_letters")
    known = [(each[0] or 0, each[at] or 0) for each in list(one.points)[-8:]]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    (began, first), (ended, last) = known[0], known[-1]
    return round(max(0.0, last - first) * 1000 / (ended - began), 2)


async def _of_this_machine(call: Call) -> list[dict[str, Any]]:
    """Statuses that `barnabas pipeline run` keeps next to the definitions."""
    path = call.options.pipelines
    if path is None:
        return []
    with suppress(NotAuthorized):
        await check_cluster_access(call, AclOperation.DESCRIBE)
        try:
            from barnabas.spark.pipelines.run.run_folder import RunFolder, statuses
        except ImportError as error:
            hint = "Or leave out --pipelines."
            raise ApiError(HTTPStatus.NOT_IMPLEMENTED, str(error), hint) from None
        folder = RunFolder.of(path, None)
        found = await asyncio.to_thread(statuses, folder, path if path.is_file() else None)
        return [_of_file(call, each) for each in found]
    return []


def _of_file(call: Call, status: dict[str, Any]) -> dict[str, Any]:
    report = without_masked(checked(status), Masks(call.options.masks))
    report["host"] = socket.gethostname()
    heard_ms = int((report["updated"] or 0) * 1000)
    extra = {"heard_ms": heard_ms, "reported": False, "letters_per_s": None}
    return {**report, "id": key_of(report), **extra}


ENDPOINTS = (
    Endpoint("GET", "/api/pipelines", "Pipelines, as they report.", list_pipelines, (ENDED,)),
    Endpoint(
        "GET",
        "/api/pipeline",
        "One pipeline, with points of its plots.",
        show_pipeline,
        (
            Parameter("id", "string", "Its id.", required=True),
            Parameter("since", "integer", "Points after this time (ms).", 0, minimum=0),
        ),
    ),
)
