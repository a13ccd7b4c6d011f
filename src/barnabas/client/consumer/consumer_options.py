"""A consumer's core from what the application says."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.group.group_member import GroupMember
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.client.offsets.offset_spec import Where, timestamp_of
from barnabas.errors import InvalidArgument
from barnabas.formats import BYTES, Format, FormatName, decoder, format_of

CommitName: TypeAlias = Literal["auto", "done", "manual"]
IsolationName: TypeAlias = Literal["read_committed", "read_uncommitted"]
DataLossName: TypeAlias = Literal["raise", "earliest", "latest"]

_OUT_OF_RANGE: dict[str, int | None] = {"raise": None, "earliest": EARLIEST, "latest": LATEST}
_COMMITS: dict[str, CommitMode] = {mode.value: mode for mode in CommitMode}
_LEVELS: dict[str, IsolationLevel] = {level.name.lower(): level for level in IsolationLevel}


def core_of(
    bootstrap_servers: BootstrapServers,
    topics: str | Iterable[str],
    *,
    group: str | None,
    start: Where,
    on_data_loss: DataLossName,
    commit: CommitName,
    commit_interval_ms: int,
    isolation: IsolationName,
    instance_id: str | None,
    session_timeout_ms: int,
    rebalance_timeout_ms: int,
    assignors: Iterable[str],
    key_format: FormatName | Format,
    value_format: FormatName | Format,
    tuning: FetchTuning,
    close_timeout_s: float,
    client_id: str,
) -> ConsumerCore:
    """Make it, or say which argument cannot be right."""
    names = _names_of(topics)
    mode = _COMMITS[_one_of(_COMMITS, commit, "commit")]
    if group is None and mode is not CommitMode.AUTO:
        raise InvalidArgument(f"commit={commit!r} needs a group: without one nothing is committed")
    check_at_least(0, close_timeout_s=close_timeout_s)
    cluster = ClusterClient(bootstrap_servers, client_id=client_id)
    member = None
    if group is not None and names:
        member = GroupMember(
            cluster,
            group,
            names,
            assignors=tuple(assignors),
            group_instance_id=instance_id,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
        )
    core = ConsumerCore(
        cluster,
        names,
        group_id=group,
        member=member,
        start=timestamp_of(start, "start"),
        out_of_range=_OUT_OF_RANGE[_one_of(_OUT_OF_RANGE, on_data_loss, "on_data_loss")],
        mode=mode,
        commit_interval_ms=None if mode is CommitMode.MANUAL else commit_interval_ms,
        isolation=_LEVELS[_one_of(_LEVELS, isolation, "isolation")],
        tuning=tuning,
    )
    core.close_timeout_s = close_timeout_s
    core.delivery_queue.decode_key = _decoder(key_format, "key_format")
    core.delivery_queue.decode_value = _decoder(value_format, "value_format")
    return core


def _decoder(choice: FormatName | Format, argument: str) -> Callable[[bytes | None], Any] | None:
    """None stands for bytes as they are."""
    return None if format_of(choice, argument) is BYTES else decoder(choice, argument)


def _names_of(topics: str | Iterable[str]) -> list[str]:
    """Each name once."""
    names = [topics] if isinstance(topics, str) else topics
    if isinstance(names, Iterable):
        names = list(dict.fromkeys(names))
        if all(isinstance(each, str) for each in names):
            return names
    raise TypeError(f"topics is a str, the name of a topic, or several of them, not {topics!r}")


def _one_of(known: dict[str, Any], name: str, argument: str) -> str:
    if name not in known:
        raise InvalidArgument(f"{argument}={name!r} is unknown: it is one of {', '.join(known)}")
    return name
