"""Connectors as people read them."""

from collections.abc import Mapping
from typing import Any

from barnabas.cli.base.output import print_line, print_table

_WORST_FIRST = ("FAILED", "RESTARTING", "UNASSIGNED", "STOPPED", "PAUSED", "RUNNING")


def state_of(status: Mapping[str, Any]) -> str:
    """The state that matters: the worst of the connector and its tasks."""
    found = {each["state"] for each in (status["connector"], *status["tasks"])}
    return next((each for each in _WORST_FIRST if each in found), status["connector"]["state"])


def reason_of(status: Mapping[str, Any]) -> str | None:
    """Why it does not run, in one line."""
    for each in (status["connector"], *status["tasks"]):
        if each.get("trace"):
            return str(each["trace"]).strip().splitlines()[0]
    return None


def print_connectors(found: Mapping[str, Mapping[str, Any]]) -> None:
    """A line for each connector."""
    rows = [
        (
            name,
            state_of(each["status"]),
            each["info"]["type"],
            each["info"]["config"].get("connector.class", "-"),
            reason_of(each["status"]) or "",
        )
        for name, each in found.items()
    ]
    print_table(("connector", "state", "type", "class", "reason"), rows)


def print_status(status: Mapping[str, Any]) -> None:
    """One connector with its tasks, and the whole of its reasons."""
    lines: list[tuple[str, str, str]] = [
        (status["name"], status["connector"]["state"], status["connector"]["worker_id"])
    ]
    lines += [
        (f"{status['name']} task {each['id']}", each["state"], each["worker_id"])
        for each in status["tasks"]
    ]
    print_table(("name", "state", "worker"), lines)
    for each in (status["connector"], *status["tasks"]):
        if each.get("trace"):
            print_line()
            print_line(each["trace"])


def print_config(config: Mapping[str, str]) -> None:
    for name, value in sorted(config.items()):
        print_line(f"{name}={value}")
