"""What `barnabas topics describe` shows: topics, as far as this user may see them."""

from collections.abc import Sequence

from barnabas.cli.base.output import Cell, print_line, print_table, say
from barnabas.client.admin.configs import ConfigEntry, ResourceType, describe_configs
from barnabas.client.admin.replicas import eligible_leaders
from barnabas.client.admin.topics import log_sizes
from barnabas.client.connect.broker_errors import broker_error
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.cluster_metadata import NO_LEADER, TopicMetadata, TopicPartition
from barnabas.client.offsets.list_offsets import beginning_and_end
from barnabas.diagnosis.denied import denied_topics, hidden_topics, unless_denied
from barnabas.errors import BarnabasError, NotAuthorized
from barnabas.quantities import counted, human_size


async def named_topics(
    cluster: ClusterClient, names: Sequence[str], unknown: dict[str, str]
) -> list[TopicMetadata]:
    """Those of these that may be described; the others are added to `unknown`."""
    found = await cluster.refresh(names)
    topics = []
    for name in names:
        topic = found[name]
        if not topic.error_code:
            topics.append(topic)
            continue
        error = broker_error(topic.error_code, f"topic {name}", needs="describe")
        if not isinstance(error, NotAuthorized):
            raise error
        unknown[f"topic {name}"] = str(error)
    return topics


async def every_topic(
    cluster: ClusterClient, unknown: dict[str, str], *, internal: bool
) -> list[TopicMetadata]:
    """All that this user may describe."""
    unknown |= await hidden_topics(cluster)
    everything = sorted((await cluster.refresh(None)).values())
    return [topic for topic in everything if internal or not is_internal(topic)]


def with_lacking(topic: TopicMetadata) -> TopicMetadata:
    """The topic with only those of its partitions that are under-replicated."""
    lacking = [each for each in topic.partitions if len(each.isr) < len(each.replicas)]
    return topic._replace(partitions=lacking)


def is_internal(topic: TopicMetadata) -> bool:
    return topic.is_internal or topic.name.startswith("__")


async def describe_topics(
    cluster: ClusterClient, topics: Sequence[TopicMetadata], unknown: dict[str, str]
) -> list[dict[str, object]]:
    partitions = [
        TopicPartition(topic.name, each.partition)
        for topic in topics
        for each in topic.partitions
        if each.leader != NO_LEADER
    ]
    names = [topic.name for topic in topics]
    sizes: dict[TopicPartition, int] = {}
    refused: dict[str, NotAuthorized] = {}
    offsets = await _offsets(cluster, partitions)
    with unless_denied("sizes", unknown):
        sizes = await log_sizes(cluster)
    eligible = await eligible_leaders(cluster, names)
    configs = await describe_configs(cluster, ResourceType.TOPIC, names, refused=refused)
    unknown |= denied_topics("configs", refused)
    described: list[dict[str, object]] = []
    for topic in topics:
        rows = []
        for each in topic.partitions:
            name = TopicPartition(topic.name, each.partition)
            start, end = offsets.get(name, (None, None))
            elr, last_known_elr = eligible.get(name, ([], []))
            rows.append(
                {
                    "partition": each.partition,
                    "leader": None if each.leader == NO_LEADER else each.leader,
                    "replicas": each.replicas,
                    "isr": each.isr,
                    "elr": elr,
                    "last_known_elr": last_known_elr,
                    "under_replicated": len(each.isr) < len(each.replicas),
                    "start_offset": start,
                    "end_offset": end,
                    "size_bytes": sizes.get(name),
                }
            )
        entries = configs.get(topic.name)
        own = None if entries is None else _own(entries)
        described.append(
            {
                "topic": topic.name,
                "internal": is_internal(topic),
                "partitions": rows,
                "configs": own,
            }
        )
    return described


def _own(entries: Sequence[ConfigEntry]) -> dict[str, str | None]:
    return {each.name: each.value for each in entries if each.is_own}


async def _offsets(
    cluster: ClusterClient, partitions: list[TopicPartition]
) -> dict[TopicPartition, tuple[int, int]]:
    """Start and end offsets; partitions with an unreachable leader are left out."""
    found: dict[TopicPartition, tuple[int, int]] = {}
    for led in (await cluster.by_leader(partitions)).values():
        try:
            found |= await beginning_and_end(cluster, led)
        except BarnabasError as error:
            if not error.retriable:
                raise
            say(f"warning: {error}")
    return found


def print_topic(topic: dict[str, object]) -> None:
    partitions, configs = topic["partitions"], topic["configs"]
    assert isinstance(partitions, list)
    if configs is None:
        settings = "not shown"
    else:
        assert isinstance(configs, dict)
        settings = ", ".join(f"{name}={value}" for name, value in configs.items()) or "default"
    print_line(
        f"topic {topic['topic']}: {counted(len(partitions), 'partition')}, configs: {settings}"
    )
    columns = ["partition", "leader", "replicas", "isr", "start", "end", "size"]
    rows: list[list[Cell]] = [
        [
            row["partition"],
            row["leader"],
            ",".join(map(str, row["replicas"])),
            ",".join(map(str, row["isr"])),
            row["start_offset"],
            row["end_offset"],
            None if row["size_bytes"] is None else human_size(row["size_bytes"]),
        ]
        for row in partitions
    ]
    if any(row["elr"] for row in partitions):
        columns.insert(4, "elr")
        for line, row in zip(rows, partitions, strict=True):
            line.insert(4, ",".join(map(str, row["elr"])))
    remarks = [
        _remark(row["leader"], is_under_replicated=row["under_replicated"]) for row in partitions
    ]
    if any(remarks):
        columns.append("remark")
        rows = [[*row, remark] for row, remark in zip(rows, remarks, strict=True)]
    print_table(columns, rows)


def _remark(leader: int | None, *, is_under_replicated: bool) -> str:
    if leader is None:
        return "no leader"
    return "under-replicated" if is_under_replicated else ""
