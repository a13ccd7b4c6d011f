"""Groups change their state along the table of transitions, and no other way."""

import pytest

from barnabas.groups.classic.group import ClassicGroup
from barnabas.groups.classic.state import GroupState, IllegalTransition
from barnabas.groups.image import GroupsImage
from tests.groups.shell import CONFIG

ALL = [(before, after) for before in GroupState for after in GroupState]
ALLOWED = {
    ("Empty", "PreparingRebalance"),
    ("Empty", "Dead"),
    ("PreparingRebalance", "CompletingRebalance"),
    ("PreparingRebalance", "Empty"),
    ("CompletingRebalance", "Stable"),
    ("CompletingRebalance", "PreparingRebalance"),
    ("Stable", "PreparingRebalance"),
    ("Dead", "Empty"),
}


@pytest.mark.parametrize(("before", "after"), ALL)
def test_what_the_table_does_not_have_raises(before: GroupState, after: GroupState) -> None:
    group = ClassicGroup("g", CONFIG, GroupsImage())
    group._state = before
    if (before, after) in ALLOWED:
        group.transition_to(after)
        assert group.state is after
    else:
        with pytest.raises(IllegalTransition, match=f"'g' can't change from {before} to {after}"):
            group.transition_to(after)
        assert group.state is before


def test_a_state_is_not_assigned_to() -> None:
    with pytest.raises(AttributeError):
        ClassicGroup("g", CONFIG, GroupsImage()).state = GroupState.STABLE  # type: ignore[misc]
