"""What a soak has to reach, depending on how long it is."""

from barnabas.sim.faults.rare_faults import SHARES
from barnabas.sim.profile import FAULTS
from barnabas.sim.states import EXPECTED, not_reached


def test_faults_are_named_as_they_are_made() -> None:
    """A fault that is drawn, and not listed, would never be missed."""
    faults = {f"fault: {name}" for name in (*FAULTS, *SHARES)}
    assert faults <= set(EXPECTED)


def test_a_short_soak_has_to_reach_nothing() -> None:
    assert not_reached({}, 100) == []


def test_a_longer_one_has_to_reach_what_is_frequent() -> None:
    frequent = not_reached({}, 1000)
    assert "election: in-sync replica" in frequent
    assert set(frequent) < set(EXPECTED)
    reached = dict.fromkeys(frequent, 1)
    assert not_reached(reached, 1000) == []
    del reached["election: in-sync replica"]
    assert not_reached(reached, 1000) == ["election: in-sync replica"]


def test_a_long_one_has_to_reach_everything() -> None:
    assert not_reached({}, 20_000) == list(EXPECTED)
