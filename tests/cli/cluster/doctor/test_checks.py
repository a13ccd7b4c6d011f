"""Each check of a doctor finds what it is for, and names what mends it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.cli.cluster.doctor.report import exit_code_of, print_report
from barnabas.client.admin.active_producers import ActiveProducer
from barnabas.client.admin.features import METADATA_VERSION, ClusterFeatures, SupportedLevels
from barnabas.client.admin.log_directories import LogDirectory
from barnabas.client.admin.quotas import QuotaDescription, QuotaEntity
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.diagnosis import checks
from barnabas.diagnosis.collect.snapshot import TOPIC_SETTINGS
from barnabas.diagnosis.examine import CHECKS
from barnabas.diagnosis.facts import GroupFacts, Limits, NodeFacts
from barnabas.diagnosis.finding import Severity, note, warning
from barnabas.diagnosis.status import VoterStatus
from barnabas.metadata.topic_configs import TOPIC_CONFIGS
from barnabas.quantities import some
from tests.cli.cluster.doctor.snapshots import (
    DAY_MS,
    NOW_MS,
    facts,
    found,
    only,
    partition,
    topic,
)

T0 = TopicPartition("t", 0)
THREE = partition(0, [1, 2, 3])


def test_a_cluster_that_lacks_nothing_has_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    whole = facts(topic("t", THREE))
    assert found(whole) == []
    assert exit_code_of([]) == 0
    print_report(whole, [], as_json=False)
    said = capsys.readouterr().out
    assert said == (
        f"cluster c: nothing found by {len(CHECKS)} checks of 3 nodes, 1 partition, 0 groups\n"
    )


def test_the_most_severe_finding_comes_first_and_gives_the_exit_code() -> None:
    given = facts(topic("t", partition(0, [1, 2, 3], [1, 2])), topic("u", partition(0, [1])))
    findings = found(given)
    assert [each.severity for each in findings] == [Severity.WARNING, Severity.NOTE]
    assert exit_code_of(findings) == 4
    assert exit_code_of([note("a", "b", "c")]) == 0
    assert exit_code_of([*findings, *found(facts(fenced=(2,)))]) == 1


def test_many_names_are_cut() -> None:
    assert some([1, 2]) == "1, 2"
    assert some(range(8)) == "0, 1, 2, 3, 4 and 3 more"


def test_no_controller() -> None:
    finding = found(facts(problem="1 of 3 voters is up"))[0]
    assert finding.severity is Severity.CRITICAL
    assert finding.what == "no controller: 1 of 3 voters is up"


def test_a_node_that_is_down() -> None:
    finding = only(facts(fenced=(2,)))
    assert finding.severity is Severity.CRITICAL
    assert finding.what == "node 2 at h2:9092 is fenced"
    assert "barnabas cluster remove-node 2" in finding.fix


def test_partitions_without_a_leader_are_named_once() -> None:
    finding = only(facts(topic("t", partition(0, [1, 2, 3], []))))
    assert finding.severity is Severity.CRITICAL
    assert finding.what == "1 partition not available: t-0"
    assert "barnabas cluster recover" in finding.fix


def test_partitions_below_min_isr_refuse_writes() -> None:
    given = facts(topic("t", partition(0, [1, 2, 3], [1])), min_isr={"t": 2})
    finding = only(given)
    assert finding.severity is Severity.CRITICAL
    assert "below min.insync.replicas, so writes with acks=all fail: t-0" in finding.what
    assert "see in the log of nodes 2, 3" in finding.fix


def test_under_replicated_partitions_name_the_nodes_that_lag() -> None:
    finding = only(facts(topic("t", partition(0, [1, 2, 3], [1, 2]))))
    assert finding.severity is Severity.WARNING
    assert finding.what == "1 partition under-replicated: t-0"
    assert finding.fix.startswith("see in the log of node 3 why it does not keep up")
    finding = found(facts(topic("t", partition(0, [1, 2, 3], [1, 2])), fenced=(3,)))[-1]
    assert finding.fix == "start node 3; its log says why it is down"


@pytest.mark.parametrize(
    ("nodes", "voters", "severity"),
    [
        ((1, 2), None, Severity.CRITICAL),
        ((1, 2, 3), (1,), Severity.WARNING),
        ((1, 2, 3, 4), None, Severity.NOTE),
        ((1,), None, None),
        ((1, 2, 3, 4), (1, 2, 3), None),
    ],
)
def test_the_number_of_voters(
    nodes: tuple[int, ...], voters: tuple[int, ...] | None, severity: Severity | None
) -> None:
    findings = found(facts(nodes=nodes, voters=voters))
    assert [each.severity for each in findings] == ([] if severity is None else [severity])


def test_voters_that_lag_and_voters_that_came_back_empty() -> None:
    assert [each.what for each in found(facts(behind_ms=7_500))] == [
        "voter 2 is 7 s behind",
        "voter 3 is 7 s behind",
    ]
    given = facts()
    assert given.status.quorum is not None
    given.status.quorum.voters[1] = VoterStatus(2, 5, 0, True)
    assert only(given).fix == "barnabas cluster add-node 2"


def directory(node: int, usable: int, error: str | None = None, size: int = 10) -> LogDirectory:
    return LogDirectory(node, "/data", error, 1000, usable, {T0: size})


@pytest.mark.parametrize(
    ("usable", "severity"), [(160, None), (150, Severity.WARNING), (50, Severity.CRITICAL)]
)
def test_a_disk_that_fills_up(usable: int, severity: Severity | None) -> None:
    findings = found(facts(directories=[directory(1, usable)]))
    assert [each.severity for each in findings] == ([] if severity is None else [severity])
    if findings:
        assert "barnabas configs set topic t retention.bytes=BYTES" in findings[0].fix


def test_a_lower_limit_for_disks_finds_more() -> None:
    given = facts(directories=[directory(1, 400)])
    assert found(given) == []
    assert only(replace(given, limits=Limits(disk_percent=50))).check == "disks"


def test_a_directory_that_has_failed() -> None:
    finding = only(facts(directories=[directory(2, 900, "KAFKA_STORAGE_ERROR")]))
    assert finding.severity is Severity.CRITICAL
    assert finding.what == "node 2: /data has failed (KAFKA_STORAGE_ERROR)"


def test_clocks_are_compared_with_each_other_as_far_as_they_are_known() -> None:
    ahead = [NodeFacts(1, clock_ahead_ms=90_000), NodeFacts(2, clock_ahead_ms=90_500)]
    given = facts()
    assert found(replace(given, nodes=ahead)) == []  # the clock here is the wrong one
    apart = [NodeFacts(1, clock_ahead_ms=0), NodeFacts(2, clock_ahead_ms=2_500, clock_error_ms=500)]
    finding = only(replace(given, nodes=apart))
    assert finding.severity is Severity.WARNING
    assert finding.what == "the clock of node 2 is 2.0 s ahead of that of node 1"
    unsure = [
        NodeFacts(1, clock_ahead_ms=0),
        NodeFacts(2, clock_ahead_ms=2_500, clock_error_ms=2e3),
    ]
    assert found(replace(given, nodes=unsure)) == []
    far = [NodeFacts(1, clock_ahead_ms=0), NodeFacts(2, clock_ahead_ms=70_000)]
    assert only(replace(given, nodes=far)).severity is Severity.CRITICAL


def test_nodes_of_different_releases() -> None:
    released = [NodeFacts(1, version="0.1.0"), NodeFacts(2, version="0.2.0")]
    finding = only(replace(facts(), nodes=released))
    assert finding.what == "nodes run different releases: 0.1.0 on 1; 0.2.0 on 2"
    untold = [NodeFacts(1, api_versions={0: (0, 9)}), NodeFacts(2, api_versions={0: (0, 10)})]
    assert (
        "nodes 2 serve other versions of APIs than node 1"
        in only(replace(facts(), nodes=untold)).what
    )


def test_an_upgrade_that_was_not_completed() -> None:
    def features(level: int, *newest: int | None) -> ClusterFeatures:
        return ClusterFeatures(
            {METADATA_VERSION: level},
            {
                number: None if each is None else {METADATA_VERSION: SupportedLevels(29, each)}
                for number, each in enumerate(newest, 1)
            },
        )

    finding = only(replace(facts(), features=features(29, 31, 30)))
    assert finding.severity is Severity.NOTE
    assert finding.what == "metadata.version is at level 29, and all nodes support 30"
    assert finding.fix.startswith("barnabas cluster upgrade")
    assert not found(replace(facts(), features=features(30, 31, 30)))
    assert not found(replace(facts(), features=features(29, 31, 29)))  # one is still old
    assert not found(replace(facts(), features=features(29, 31, None)))  # one does not answer


@pytest.mark.parametrize(
    ("days", "severity"), [(31, None), (29, Severity.WARNING), (3, Severity.CRITICAL)]
)
def test_certificates_that_expire(days: int, severity: Severity | None) -> None:
    node = NodeFacts(1, certificate_expires_ms=NOW_MS + days * DAY_MS)
    findings = found(replace(facts(), nodes=[node]))
    assert [each.severity for each in findings] == ([] if severity is None else [severity])


def test_a_limit_of_open_files_that_is_nearly_reached() -> None:
    finding = only(replace(facts(), nodes=[NodeFacts(1, open_files=900, max_files=1_024)]))
    assert finding.what == "node 1 has 900 of 1,024 files open"


def test_leaders_that_are_not_the_preferred_ones() -> None:
    swapped = [partition(n, [2, 1])._replace(leader=1) for n in range(6)]
    finding = only(facts(topic("t", *swapped), nodes=(1, 2), voters=(1,)))
    assert finding.severity is Severity.WARNING
    assert finding.what == "node 1 leads 6 of 6 partitions"
    assert finding.fix == "barnabas cluster rebalance-leaders"
    finding = only(facts(topic("t", swapped[0]), nodes=(1, 2), voters=(1,)))
    assert finding.severity is Severity.NOTE


def test_a_node_without_replicas_and_one_with_too_many() -> None:
    given = facts(
        topic("t", *(partition(n, [1 + n % 3, 1 + (n + 1) % 3]) for n in range(6))),
        nodes=(1, 2, 3, 4),
        voters=(1, 2, 3),
    )
    finding = only(given)
    assert finding.what == "nodes 4 hold no replicas"
    assert finding.fix == "barnabas cluster add-node 4 --rebalance"


def test_bytes_spread_unevenly() -> None:
    directories = [directory(n, 900, size=(20 << 30) if n == 1 else 1) for n in (1, 2, 3)]
    finding = only(facts(directories=directories))
    assert finding.severity is Severity.NOTE
    assert finding.what.startswith("node 1 holds 21.5 GB")


def test_moves_that_go_on_are_a_note() -> None:
    assert only(facts(topic("t", THREE), moving=(T0,))).fix.endswith(
        "barnabas cluster move --cancel"
    )


def test_racks() -> None:
    racks = {1: "a", 2: "a", 3: "b"}
    finding = only(facts(topic("t", partition(0, [1, 2])), racks=racks))
    assert finding.what == "1 partition with all replicas in one rack: t-0"
    assert finding.fix == "barnabas cluster move t:0 --to ID,..."
    assert found(facts(topic("t", partition(0, [1, 3])), racks=racks)) == []
    assert only(facts(racks={1: "a", 2: "b"})).what == "nodes 3 have no rack, the others have one"


def test_throttles_that_nobody_needs() -> None:
    rate = "leader.replication.throttled.rate"
    node = NodeFacts(2, {rate: "1000"}, frozenset([rate]))
    given = replace(facts(topic("t", THREE)), nodes=[node])
    assert only(given).fix == f"barnabas configs unset broker 2 {rate}"
    named = {"leader.replication.throttled.replicas": "0:1", "min.insync.replicas": "2"}
    assert (
        "unset topic t leader.replication.throttled.replicas"
        in only(facts(topic("t", THREE), topics={"t": named})).fix
    )
    moving = facts(topic("t", THREE), moving=(T0,), topics={"t": named})
    assert [each.check for each in found(moving)] == ["balance"]


def test_min_isr_that_contradicts_the_replication_factor() -> None:
    pair = topic("t", partition(0, [1, 2]))
    finding = only(facts(pair, topics={"t": {"min.insync.replicas": "3"}}))
    assert finding.severity is Severity.CRITICAL
    assert finding.fix == "barnabas configs set topic t min.insync.replicas=1"
    finding = only(facts(pair, topics={"t": {"min.insync.replicas": "2"}}))
    assert finding.severity is Severity.WARNING
    assert "one node that restarts stops their writes" in finding.what


def test_three_replicas_deserve_two_in_sync() -> None:
    one = {"min.insync.replicas": "1"}
    finding = only(facts(topic("t", THREE), topics={"t": one}))
    assert finding.severity is Severity.NOTE
    assert "topics t have min.insync.replicas=1" in finding.what
    assert finding.fix == "barnabas configs set topic t min.insync.replicas=2"
    assert found(facts(topic("t", THREE), topics={"t": {"min.insync.replicas": "2"}})) == []
    assert found(facts(topic("t", partition(0, [1, 2])), topics={"t": one})) == []
    assert found(facts(topic("t", THREE), topics={"t": {}})) == []


def test_few_replicas() -> None:
    assert only(facts(topic("t", partition(0, [1])))).severity is Severity.NOTE
    assert found(facts(topic("t", partition(0, [1])), nodes=(1,))) == []
    internal = facts(topic("__consumer_offsets", partition(0, [1, 2])))
    assert only(internal).severity is Severity.WARNING


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"unclean.leader.election.enable": "true"}, "loses acknowledged records"),
        (
            {"cleanup.policy": "delete", "retention.ms": "1000", "segment.ms": "5000"},
            "retention.ms is below segment.ms",
        ),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "min.compaction.lag.ms=10 is above max.compaction.lag.ms=5",
        ),
        ({"max.message.bytes": "3000", "segment.bytes": "2000"}, "has to fit into a segment"),
        ({"max.message.bytes": "300000000"}, "above socket.request.max.bytes=104857600"),
    ],
)
def test_settings_of_a_topic_that_contradict_each_other(
    settings: dict[str, str], said: str
) -> None:
    node = NodeFacts(1, {"socket.request.max.bytes": "104857600"})
    finding = only(replace(facts(topic("t", THREE), topics={"t": settings}), nodes=[node]))
    assert said in finding.what
    assert "barnabas configs set topic t " in finding.fix


@pytest.mark.parametrize(
    "settings",
    [
        {"cleanup.policy": "compact", "retention.ms": "1000", "segment.ms": "5000"},
        {"cleanup.policy": "delete", "retention.ms": "-1", "segment.ms": "5000"},
        {"max.message.bytes": "1048588", "segment.bytes": "1073741824"},
    ],
)
def test_settings_of_a_topic_that_are_fine(settings: dict[str, str]) -> None:
    assert found(facts(topic("t", THREE), topics={"t": settings})) == []


def test_nodes_that_disagree() -> None:
    nodes = [NodeFacts(n, {"num.partitions": "1" if n < 3 else "6"}) for n in (1, 2, 3)]
    finding = only(replace(facts(), nodes=nodes))
    assert finding.what == "nodes disagree on num.partitions: 1 on 1, 2; 6 on 3"


def test_groups() -> None:
    groups = [
        GroupFacts("fine", "Stable", 9_999, {}),
        GroupFacts("slow", "Stable", 10_000, {}),
        GroupFacts("left", "Empty", 3, {}),
        GroupFacts("done", "Empty", 0, {}),
        GroupFacts("orders-dead.replay", "Empty", 3, {}),
        GroupFacts("late", "Stable", 5, {T0: 2}),
        GroupFacts("secret", "Stable", None, {}),
    ]
    assert [each.what for each in found(facts(groups=groups))] == [
        "group slow is 10,000 records behind",
        "group left has no members and is 3 records behind",
        "retention deleted 2 records before group late read them, in t-0",
    ]


def test_delayed_records_wait_for_workers_and_not_for_a_deletion() -> None:
    groups = [
        GroupFacts("mails.delayed", "Stable", 50_000, {}),
        GroupFacts("jobs.delayed", "Empty", 3, {}),
        GroupFacts("billing.retry", "Empty", 2, {}),
    ]
    findings = found(facts(groups=groups))
    assert [each.what for each in findings] == [
        "group jobs.delayed has no members and is 3 records behind",
        "group billing.retry has no members and is 2 records behind",
    ]
    for each in findings:
        assert each.fix.startswith("start the ")
        assert "delete" not in each.fix


def test_a_transaction_that_hangs() -> None:
    finding = only(facts(hanging=[ActiveProducer(T0, 7, 0, 0, 0, 0, 41)]))
    assert finding.severity is Severity.CRITICAL
    assert finding.fix == "barnabas transactions abort t:0 --start-offset 41"


def test_a_transaction_that_nobody_has_ended() -> None:
    finding = only(facts(left_open=["barnabas-spark-7"]))
    assert finding.severity is Severity.WARNING
    assert finding.fix.endswith("barnabas transactions fence barnabas-spark-7")


def test_a_quota_that_stops_a_client() -> None:
    quotas = [
        QuotaDescription(QuotaEntity(user="a"), {"producer_byte_rate": 10.0}),
        QuotaDescription(QuotaEntity(user="b"), {"producer_byte_rate": 1e6}),
    ]
    finding = only(facts(quotas=quotas))
    assert finding.what == "producer_byte_rate=10 of user a lets almost nothing through"


def test_what_was_not_checked_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    given = facts(unknown={"disks": "not allowed"})
    print_report(given, [warning("a", "b", "c")], as_json=False)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "",
        "WARNING [a] b",
        "  fix: c",
        "",
        "not checked [disks] not allowed",
    ]


def test_the_settings_of_topics_that_checks_look_at_are_asked_for() -> None:
    folder = Path(checks.__path__[0])
    named = {
        name
        for file in folder.glob("*.py")
        for name in re.findall(r'"([a-z][a-z.]+)"', file.read_text())
    }
    assert named & set(TOPIC_CONFIGS) <= set(TOPIC_SETTINGS)
    assert set(TOPIC_SETTINGS) <= named
