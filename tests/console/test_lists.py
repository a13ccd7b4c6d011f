"""Lists and events, made from samples."""

from barnabas.client.admin.group_members import GroupMembers, GroupType
from barnabas.client.connect.cluster_metadata import PartitionMetadata, TopicPartition
from barnabas.console.watch.events import EventLog
from barnabas.console.watch.group_rows import group_rows
from barnabas.console.watch.group_rows import select as select_groups
from barnabas.console.watch.history import LagHistory
from barnabas.console.watch.topic_rows import lags_of, select, topic_rows
from barnabas.diagnosis.rates import rates_of
from barnabas.diagnosis.sample import GroupSample, Sample
from barnabas.diagnosis.status import NodeStatus
from barnabas.wire.endpoint import Address


def partition(leader: int = 1, isr: list[int] | None = None) -> PartitionMetadata:
    return PartitionMetadata(0, leader, 1, [1, 2], isr or [1, 2], [])


def sample(topics: int = 3, at_s: float = 0.0, **more: object) -> Sample:
    names = [TopicPartition(f"topic-{n:05}", 0) for n in range(topics)]
    values: dict[str, object] = {
        "addresses": {1: Address("a", 1), 2: Address("b", 2)},
        "partitions": dict.fromkeys(names, partition()),
        "ends": {name: 100 * (n + 1) for n, name in enumerate(names)},
    }
    return Sample(at_s, "c", **{**values, **more})  # type: ignore[arg-type]


def group(name: str, state: str = "Stable", **offsets: int) -> GroupSample:
    committed = {TopicPartition(topic.replace("_", "-"), 0): at for topic, at in offsets.items()}
    members = GroupMembers(name, state, "consumer", "", [], GroupType.CLASSIC)
    return GroupSample(members, committed)


def node(node_id: int, state: str = "up", *, is_controller: bool = False) -> NodeStatus:
    return NodeStatus(node_id, f"n{node_id}:9092", None, state, None, is_controller, 0, 0)


def test_ten_thousand_topics_are_searched_and_sorted() -> None:
    before = sample(10_000)
    now = sample(10_000, at_s=2.0, ends={name: end + 4 for name, end in before.ends.items()})
    rows = topic_rows(now, rates_of(before, now), {})
    found = select(rows, search="TOPIC 0999", internal=False, sort="name", descending=True)
    assert [row.name for row in found][:2] == ["topic-09999", "topic-09998"]
    assert len(found) == 11  # and topic-00999
    busiest = select(rows, search="", internal=False, sort="records", descending=True)
    assert (busiest[0].name, busiest[0].records, busiest[0].records_s) == (
        "topic-09999",
        1_000_004,
        2.0,
    )


def test_the_slowest_group_of_a_topic() -> None:
    now = sample(groups=[group("a", topic_00000=90), group("b", topic_00000=10, topic_00001=200)])
    lags = lags_of(now)
    rows = topic_rows(now, rates_of(now, now), lags)
    assert [(row.lag, row.slowest) for row in rows] == [(90, "b"), (0, "b"), (None, None)]
    listed = group_rows(now, rates_of(now, now), lags)
    found = select_groups(listed, search="00001", kind="", sort="lag", descending=True)
    assert [(row.id, row.lag, row.topics) for row in found] == [
        ("b", 90, ["topic-00000", "topic-00001"])
    ]
    assert not select_groups(listed, search="", kind="share", sort="id", descending=False)


def test_a_share_group_says_its_lag_itself() -> None:
    name = TopicPartition("topic-00000", 0)
    shared = GroupSample(
        GroupMembers("s", "Stable", "share", "", [], GroupType.SHARE), {name: 1}, {name: 7}
    )
    now = sample(groups=[shared])
    assert lags_of(now) == {"s": {name: 7}}
    assert rates_of(now, now).groups[0].lag == 7


def test_positions_of_a_mirror_are_no_lag() -> None:
    """They are offsets of another cluster, and a mirror reads nothing here."""
    mirror = group("barnabas-mirror.A->B", topic_00000=3)
    now = sample(groups=[group("readers", topic_00000=90), mirror])
    lags, rates = lags_of(now), rates_of(now, now)
    assert lags == {"readers": {TopicPartition("topic-00000", 0): 10}}
    assert {row.group_id: row.lag for row in rates.groups} == {
        "readers": 10,
        "barnabas-mirror.A->B": None,
    }
    assert (topic_rows(now, rates, lags)[0].slowest) == "readers"
    listed = group_rows(now, rates, lags)
    found = select_groups(listed, search="", kind="", sort="lag", descending=True)
    assert [(row.id, row.lag) for row in found] == [("readers", 10), ("barnabas-mirror.A->B", None)]


def test_events_say_what_has_changed() -> None:
    before = sample(groups=[group("billing", topic_00000=1)])
    name = TopicPartition("topic-00000", 0)
    moved = {**before.partitions, name: partition(2, [2]), TopicPartition("new", 0): partition()}
    now = sample(
        partitions=moved,
        addresses={2: Address("b", 2), 3: Address("c", 3)},
        groups=[group("billing", "Empty", topic_00000=1)],
    )
    log = EventLog()
    assert log.compare(5, before, now)
    said = {each.what: (each.severity, each.link) for each in log.newest(20)}
    assert said == {
        "Node 1 has left the cluster": ("bad", "/cluster"),
        "Node 3 has joined the cluster": ("good", "/cluster"),
        "Leadership of 1 partition moved from node 1 to node 2": ("info", "/cluster"),
        "Partition topic-00000-0 lost an in-sync replica": ("warning", "/topics/topic-00000"),
        "Topic new created": ("info", "/topics/new"),
        "Group billing has no members left": ("warning", "/group?id=billing"),
    }
    assert not log.compare(6, now, now)


def test_a_node_that_is_back_before_it_is_missed_is_told() -> None:
    before, log = [node(1, is_controller=True), node(2)], EventLog()
    fenced = [node(1, "fenced"), node(2, is_controller=True)]
    log.compare_nodes(1, before, fenced)
    log.compare_nodes(2, fenced, [node(1), node(2, is_controller=True)])
    assert [(each.severity, each.what) for each in log.newest(9)] == [
        ("good", "Node 1 is up again"),
        ("info", "Node 2 is the controller now"),
        ("bad", "Node 1 is fenced"),
    ]


def test_a_partition_without_leader() -> None:
    before, log = sample(), EventLog()
    offline = sample(partitions={name: partition(-1) for name in before.partitions})
    log.compare(1, before, offline)
    log.compare(2, offline, before)
    assert [each.what for each in log.newest(2)] == [
        "3 partitions of topic-00000, topic-00001, topic-00002 got a leader again",
        "3 partitions of topic-00000, topic-00001, topic-00002 lost the leader",
    ]


def test_history_forgets_groups_that_are_gone() -> None:
    history, name = LagHistory(), TopicPartition("t", 0)
    history.add(1, {"a": {name: 5}, "b": {}})
    history.add(2, {"b": {name: 3}})
    assert history.of_group("a") == []
    assert history.of_group("b") == [(1, 0), (2, 3)]
    assert history.of_partitions("b", [name]) == {name: [(2, 3)]}
