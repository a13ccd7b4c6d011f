"""The largest arrays of the heaviest APIs, sent to a cluster with access rules.

The requests are those of `test_every_field.py`. Here each element is decided by the rules, much is
passed on to the controller, and what changes is replayed by every node: on none of them may a turn
of the event loop keep other clients waiting.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from barnabas import Admin
from barnabas.client.admin.acls import AclBinding
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.broker.raw_client import RawClient
from tests.broker.verbs import find_coordinator
from tests.hostile.largest_fields import Case, cases, frame, served
from tests.hostile.measured_broker import LONGEST_TURN_S, MeasuredCluster, longest_turn
from tests.hostile.onlooker import MB, resident
from tests.hostile.peak_memory import forget_peak, peak
from tests.support.access import AUTHORIZER
from tests.support.sasl import PLAIN_PASSWORD, sign_in

_GROWTH = 512 * MB
"""On the node that is asked and on each other, as on one node."""
_ANSWER_S = 120.0
SETTINGS = {
    **AUTHORIZER,
    "super.users": "User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
}
USERS = {"alice": PLAIN_PASSWORD, "carol": "hatter"}
"""Alice may do everything, because rules say so; Carol nothing."""
RULES = [
    AclBinding("User:alice", "ALL", kind, name, "PREFIXED")
    for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID")
    for name in ("a", "g", "n-", "s", "t", "x")
] + [AclBinding("User:alice", "ALL", "CLUSTER", "kafka-cluster")]

_HEAVIEST = (
    "AddPartitionsToTxnRequest",
    "AlterClientQuotasRequest",
    "AlterPartitionReassignmentsRequest",
    "CreateAclsRequest",
    "CreateTopicsRequest",
    "DeleteAclsRequest",
    "DeleteTopicsRequest",
    "DescribeConfigsRequest",
    "FetchRequest",
    "FindCoordinatorRequest",
    "IncrementalAlterConfigsRequest",
    "MetadataRequest",
    "OffsetCommitRequest",
    "ProduceRequest",
)
"""What costs most on one node, of what is decided by the controller and of what is not; all of them
would take minutes."""
_REFUSED = ("CreateTopicsRequest", "FetchRequest", "MetadataRequest", "OffsetCommitRequest")


def _arrays() -> Iterator[Case]:
    """Every array in the newest version, with different elements."""
    arrays = {(case.api, case.field) for case in cases() if not case.distinct}
    for case in cases():
        is_newest = case.version == served()[case.api].max_version
        if case.distinct and is_newest and (case.api, case.field) in arrays:
            yield case


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredCluster]:
    with MeasuredCluster(tmp_path_factory.mktemp("arrays"), SETTINGS) as cluster:
        with Admin(cluster.bootstrap) as admin:
            admin.create_acls(RULES)
            admin.create_topic("t", partitions=3, replication_factor=3)
        with cluster[1].connect() as client:
            find_coordinator(client, "g")
        yield cluster
        for node in cluster.nodes.values():
            assert node.alive, node.log_tail()
            assert "Traceback" not in node.log.read_text(), node.log_tail()


def _attack(cluster: MeasuredCluster, request: bytes, node_id: int, user: str) -> None:
    """Send it, have another client served meanwhile, and wait until every node has gone on."""
    host, _, port = cluster.sasl_bootstrap.split(",")[node_id - 1].partition(":")
    with (
        cluster[node_id].connect(_ANSWER_S) as other,
        RawClient(host, int(port), timeout_s=_ANSWER_S) as greedy,
    ):
        assert sign_in(greedy, "PLAIN", user, USERS[user]).error_code == 0
        try:
            greedy.send_bytes(request)
            other.ask(ApiVersionsRequest("other", "1"))
            greedy.receive_frame()
        except (EOFError, ConnectionError):
            pass  # it is refused
    for node in cluster.nodes.values():
        with node.connect(_ANSWER_S) as client:
            client.ask(MetadataRequest([]))


def _check(cluster: MeasuredCluster, case: Case, user: str) -> None:
    controller = cluster.controller().node_id
    node_id = 1 + controller % len(cluster.nodes)  # one that has to pass much on
    pids = [node.pid for node in cluster.nodes.values()]
    before = {pid: resident(pid) for pid in pids}
    for pid in pids:
        forget_peak(pid)
    attack = partial(_attack, cluster, frame(case), node_id, user)
    longest_s, callback = longest_turn(cluster.turns.values(), attack)
    assert longest_s < LONGEST_TURN_S, f"{case}: {callback}"
    assert all(peak(pid) - before[pid] < _GROWTH for pid in pids), case


@pytest.mark.parametrize("api", _HEAVIEST)
def test_the_largest_arrays_keep_nobody_waiting(cluster: MeasuredCluster, api: str) -> None:
    for case in _arrays():
        if case.api == api:
            _check(cluster, case, "alice")


@pytest.mark.parametrize("api", _REFUSED)
def test_the_largest_arrays_without_rights(cluster: MeasuredCluster, api: str) -> None:
    for case in _arrays():
        if case.api == api:
            _check(cluster, case, "carol")
