"""The pending image is the committed one and what is decided; the small cluster checks it."""

import pytest

from barnabas.controller.draft import Draft
from tests.controller.small_cluster import SmallCluster
from tests.sim.replay_variants import believe_without_a_record


def test_a_decision_leaves_the_committed_image_alone() -> None:
    cluster = SmallCluster()
    before = cluster.agreed.copy()
    cluster.controller.disconnected(1, cluster.now_ms)
    decision = cluster.controller.tick(cluster.now_ms + 10_000)
    assert decision.records
    assert cluster.agreed == before
    assert cluster.controller.pending_image != before
    cluster.agree(decision)
    assert cluster.agreed == cluster.controller.pending_image


def test_a_belief_without_a_record_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Draft, "write", believe_without_a_record)
    with pytest.raises(AssertionError):
        SmallCluster()
