"""How many copies the simulator expects of acknowledged records, and which it may take."""

import pytest

from barnabas.sim.checks.acknowledged_copies import AcknowledgedCopies
from barnabas.sim.checks.committed_log import Batch
from barnabas.sim.checks.history import Violation


def _batch(offset: int) -> Batch:
    return Batch(offset, offset + 1, 0, 0)


def _copies(*, acknowledged: bool = True) -> AcknowledgedCopies:
    copies = AcknowledgedCopies()
    copies.min_insync = {"t": 2}
    for node_id in (1, 2):
        copies.wrote(node_id, "t-0", _batch(0))
    if acknowledged:
        copies.acknowledged("t-0", "t", _batch(0))
    return copies


def test_too_few_nodes_have_what_is_acknowledged() -> None:
    copies = _copies()
    copies.wrote(1, "t-0", _batch(1))
    with pytest.raises(Violation, match="only on the nodes \\[1\\]"):
        copies.acknowledged("t-0", "t", _batch(1))


def test_one_copy_less_than_promised_may_be_lost() -> None:
    copies = _copies()
    assert copies.may_lose({1}, "t-0", "t")
    copies.loses(1)
    assert copies.may_lose({1}, "t-0", "t")
    assert not copies.may_lose({2}, "t-0", "t")


def test_a_lower_minimum_allows_no_more_losses_than_a_higher_one_that_comes_later() -> None:
    copies = _copies()
    copies.min_insync["t"] = 1
    assert not copies.may_lose({1}, "t-0", "t")
    copies.wrote(1, "t-0", _batch(1))
    copies.acknowledged("t-0", "t", _batch(1))
    copies.min_insync["t"] = 2
    assert not copies.may_lose({1}, "t-0", "t")


def test_the_next_acknowledgement_promises_again() -> None:
    copies = _copies()
    copies.wrote(2, "t-0", _batch(1))
    copies.loses(1)
    copies.acknowledged("t-0", "t", _batch(0))  # it was under way
    assert not copies.may_lose({2}, "t-0", "t")
    for node_id in (2, 3):
        copies.wrote(node_id, "t-0", _batch(2))
    copies.acknowledged("t-0", "t", _batch(2))
    assert copies.may_lose({2}, "t-0", "t")


def test_nothing_is_promised_before_something_is_acknowledged() -> None:
    assert not _copies(acknowledged=False).may_lose(1, "t-0", "t")
