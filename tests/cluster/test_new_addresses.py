"""All voters get new addresses at once: they find each other at those that the settings name."""

from barnabas.embedded.ports import Ports
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from tests.cluster.conftest import TOPIC
from tests.cluster.test_damage import VALUES, consumed, fill
from tests.support.cluster import ClusterProcesses
from tests.support.wait import LIMIT_S, wait_until

_SNAPSHOT_RECORDS = 20_000
_AT_ONCE = 500


def change_metadata_until_there_are_snapshots(cluster: ClusterProcesses) -> None:
    for start in range(0, _SNAPSHOT_RECORDS, _AT_ONCE):
        entries = [
            EntryData([EntityData("user", f"user-{number}")], [OpData("producer_byte_rate", 1e9)])
            for number in range(start, start + _AT_ONCE)
        ]
        answer = cluster.ask_any(AlterClientQuotasRequest(entries))
        assert {entry.error_code for entry in answer.entries} == {0}
    wait_until(
        lambda: all(list(node.data.rglob("*.checkpoint")) for node in cluster.nodes.values()),
        "there are no snapshots of the metadata",
        timeout_s=LIMIT_S,
    )


def test_all_voters_get_new_addresses_at_once(cluster: ClusterProcesses) -> None:
    fill(cluster)
    change_metadata_until_there_are_snapshots(cluster)
    cluster.stop()
    fresh = Ports(len(cluster.nodes))
    try:
        for node, port in zip(cluster.nodes.values(), fresh.numbers, strict=True):
            node.port = port
        voters = ",".join(f"{n.node_id}@{n.host}:{n.port}" for n in cluster.nodes.values())
        for node in cluster.nodes.values():
            node.settings["controller.quorum.voters"] = voters
        cluster.start()
        cluster.wait_until_in_sync()
        assert consumed(cluster) == (VALUES, None)
        assert cluster.leader_of(TOPIC).alive
    finally:
        cluster.close()
        fresh.close()
