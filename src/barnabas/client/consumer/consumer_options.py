"""A consumer's core from what the application says."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.consumer.commit_mode import CommitMode
from barnabas.client.consumer.consumer_core import ConsumerCore
from barnabas.client.consumer.fetch_request import FetchTuning
from barnabas.client.group.classic_member import ClassicMember
from barnabas.client.group.consumer_member import ConsumerMember
from barnabas.client.offsets.isolation import IsolationLevel
from barnabas.client.offsets.list_offsets import EARLIEST, LATEST
from barnabas.client.offsets.offset_spec import Where, timestamp_of
from barnabas.errors import InvalidArgument
from barnabas.formats import BYTES, Format, FormatName, decoder, format_of

if TYPE_CHECKING:
    from barnabas.formats import Registry

CommitName: TypeAlias = Literal["auto", "done", "manual"]
IsolationName: TypeAlias = Literal["read_committed", "read_uncommitted"]
GroupProtocolName: TypeAlias = Literal["classic", "consumer"]
DataLossName: TypeAlias = Literal["raise", "earliest", "latest"]


class ConsumerOptions(TypedDict, total=False):
    """The options of a consumer that do not concern the types of its messages."""

    pattern: str | None
    group: str | None
    start: Where
    on_data_loss: DataLossName
    commit: CommitName
    commit_interval_ms: int
    isolation: IsolationName
    instance_id: str | None
    group_protocol: GroupProtocolName
    group_remote_assignor: str | None
    client_rack: str
    session_timeout_ms: int | None
    rebalance_timeout_ms: int
    max_poll_interval_ms: int | None
    assignors: Iterable[str] | None
    on_assigned: Callable[[list[TopicPartition]], object] | None
    on_revoked: Callable[[list[TopicPartition]], object] | None
    on_lost: Callable[[list[TopicPartition]], object] | None
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int
    close_timeout_s: float
    client_id: str
    registry: "str | Registry | None"
    security: Mapping[str, SecurityValue] | None


_OUT_OF_RANGE: dict[str, int | None] = {"raise": None, "earliest": EARLIEST, "latest": LATEST}
_PROTOCOLS: dict[str, None] = dict.fromkeys(("classic", "consumer"))
_SESSION_TIMEOUT_MS = 45_000
_ASSIGNORS = ("range", "roundrobin")
_COMMITS: dict[str, CommitMode] = {mode.value: mode for mode in CommitMode}
_LEVELS: dict[str, IsolationLevel] = {level.name.lower(): level for level in IsolationLevel}


def core_of(
    bootstrap_servers: BootstrapServers,
    topics: str | Iterable[str],
    *,
    pattern: str | None,
    group: str | None,
    start: Where,
    on_data_loss: DataLossName,
    commit: CommitName,
    commit_interval_ms: int,
    isolation: IsolationName,
    instance_id: str | None,
    group_protocol: GroupProtocolName,
    group_remote_assignor: str | None,
    session_timeout_ms: int | None,
    rebalance_timeout_ms: int,
    max_poll_interval_ms: int | None,
    assignors: Iterable[str] | None,
    key_format: FormatName | Format,
    value_format: FormatName | Format,
    tuning: FetchTuning,
    close_timeout_s: float,
    client_id: str,
    security: Mapping[str, SecurityValue] | None,
) -> ConsumerCore:
    """Make it, or say which argument cannot be right."""
    names = _names_of(topics)
    _check_pattern(pattern, group)
    mode = _COMMITS[_one_of(_COMMITS, commit, "commit")]
    if group is None and mode is not CommitMode.AUTO:
        raise InvalidArgument(f"commit={commit!r} needs a group: without one nothing is committed")
    check_at_least(0, close_timeout_s=close_timeout_s)
    check_at_least(0, session_timeout_ms=session_timeout_ms, commit_interval_ms=commit_interval_ms)
    cluster = ClusterClient(
        bootstrap_servers, client_id=client_id, security=security_settings(security)
    )
    _one_of(_PROTOCOLS, group_protocol, "group_protocol")
    if max_poll_interval_ms is not None:
        check_at_least(1, max_poll_interval_ms=max_poll_interval_ms)
    member: ClassicMember | ConsumerMember | None = None
    if group is not None and (names or pattern is not None):
        if group_protocol == "classic":
            _belongs_to(
                "consumer",
                group_remote_assignor=group_remote_assignor,
                max_poll_interval_ms=max_poll_interval_ms,
            )
            member = ClassicMember(
                cluster,
                group,
                names,
                pattern=pattern,
                assignors=_ASSIGNORS if assignors is None else tuple(assignors),
                group_instance_id=instance_id,
                session_timeout_ms=(
                    _SESSION_TIMEOUT_MS if session_timeout_ms is None else session_timeout_ms
                ),
                rebalance_timeout_ms=rebalance_timeout_ms,
            )
        else:
            _belongs_to("classic", session_timeout_ms=session_timeout_ms, assignors=assignors)
            member = ConsumerMember(
                cluster,
                group,
                names,
                pattern=pattern,
                remote_assignor=group_remote_assignor,
                rack=tuning.rack or None,
                group_instance_id=instance_id,
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
        max_poll_interval_ms=max_poll_interval_ms,
    )
    core.close_timeout_s = close_timeout_s
    core.delivery_queue.decode_key = _decoder(key_format, "key_format")
    core.delivery_queue.decode_value = _decoder(value_format, "value_format")
    return core


_INSTEAD = {
    "session_timeout_ms": "it is group.consumer.session.timeout.ms, a setting of the brokers",
    "assignors": "the coordinator assigns; name its assignor with group_remote_assignor",
    "max_poll_interval_ms": "a member stays however long its handler takes",
    "group_remote_assignor": "the members assign; name their assignors with assignors",
}


def _belongs_to(protocol: GroupProtocolName, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            other = "consumer" if protocol == "classic" else "classic"
            raise InvalidArgument(
                f'{name} is for group_protocol="{protocol}": in "{other}" {_INSTEAD[name]}'
            )


def _check_pattern(pattern: str | None, group: str | None) -> None:
    if pattern is None:
        return
    if not isinstance(pattern, str):
        raise TypeError(f"pattern is a str, a regular expression, not {pattern!r}")
    if not pattern:
        raise InvalidArgument("pattern is empty: '.*' matches all topics")
    if group is None:
        raise InvalidArgument(
            "pattern needs a group, which assigns the topics that match; without one name "
            "them in topics, from the list of Admin.topics() for example"
        )


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
