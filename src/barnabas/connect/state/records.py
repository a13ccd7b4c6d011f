"""The records of the topics that hold the state of the service. Keys are texts, values JSON.

    connect-configs   connector-NAME           {"properties": {setting: value}}
                      target-state-NAME        {"state": "STARTED" | "PAUSED" | "STOPPED"}
                      start-offsets-NAME       {TOPIC: {PARTITION: offset}}, without a checkpoint
                      pending-reset-NAME       {}, until its checkpoints are deleted
    connect-status    status-connector-NAME    {"state", "trace", "worker_id", "topics", "tasks"}
                      leader                   {"worker_id", "url", "epoch", "beat"}

A record without a value deletes. `tasks` are the states of the connector's pipelines, so that one
record has the whole of a connector's status, and readers never see half of a change.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Target: TypeAlias = Literal["STARTED", "PAUSED", "STOPPED"]
State: TypeAlias = Literal["UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING"]

LEADER = "leader"
_CONNECTOR = "connector-"
_TARGET = "target-state-"
_START = "start-offsets-"
_RESET = "pending-reset-"
_STATUS = "status-connector-"


@dataclass(frozen=True)
class Definition:
    """What is wanted of a connector."""

    config: Mapping[str, str]
    target: Target = "STARTED"
    start: Mapping[str, Mapping[str, int]] | None = None
    """Where it begins if it has no checkpoint, if that was set."""
    is_reset_pending: bool = False
    """Whether its checkpoints are to be deleted before anything else."""


@dataclass(frozen=True)
class TaskStatus:
    """The state of one of its pipelines."""

    state: State
    trace: str | None = None


@dataclass(frozen=True)
class ConnectorStatus:
    """What a connector does."""

    state: State
    worker_id: str
    trace: str | None = None
    tasks: tuple[TaskStatus, ...] = ()
    topics: tuple[str, ...] = ()

    def value(self) -> dict[str, Any]:
        """The record's value."""
        return asdict(self)


@dataclass(frozen=True)
class Leader:
    """The instance that leads, as of its last heartbeat."""

    worker_id: str
    url: str
    epoch: int
    beat: int
    resigned: bool = False


def definition_key(name: str) -> str:
    return _CONNECTOR + name


def target_key(name: str) -> str:
    return _TARGET + name


def start_key(name: str) -> str:
    return _START + name


def reset_key(name: str) -> str:
    return _RESET + name


def status_key(name: str) -> str:
    return _STATUS + name


def definitions_in(entries: Iterable[tuple[str, Any]]) -> dict[str, Definition]:
    """What all connectors are wanted to be, sorted by name."""
    configs: dict[str, Mapping[str, str]] = {}
    targets: dict[str, Target] = {}
    starts: dict[str, Mapping[str, Mapping[str, int]]] = {}
    resets: set[str] = set()
    for key, value in entries:
        if key.startswith(_CONNECTOR):
            configs[key.removeprefix(_CONNECTOR)] = value["properties"]
        elif key.startswith(_TARGET):
            targets[key.removeprefix(_TARGET)] = value["state"]
        elif key.startswith(_START):
            starts[key.removeprefix(_START)] = value
        elif key.startswith(_RESET):
            resets.add(key.removeprefix(_RESET))
    return {
        name: Definition(config, targets.get(name, "STARTED"), starts.get(name), name in resets)
        for name, config in sorted(configs.items())
    }


def status_in(value: Mapping[str, Any] | None) -> ConnectorStatus | None:
    """The status that a record has."""
    if value is None:
        return None
    tasks = tuple(TaskStatus(each["state"], each["trace"]) for each in value["tasks"])
    return ConnectorStatus(
        value["state"], value["worker_id"], value["trace"], tasks, tuple(value["topics"])
    )


def leader_in(value: Mapping[str, Any] | None) -> Leader | None:
    """The leader that a record names."""
    return None if value is None else Leader(**value)
