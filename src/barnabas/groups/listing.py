"""ListGroups: groups of all kinds, by state and type."""

from collections.abc import Iterable, Sequence

from barnabas.groups.group import Group
from barnabas.wire.messages.list_groups import ListedGroup


def list_groups(
    groups: Iterable[Group], states_filter: Sequence[str], types_filter: Sequence[str]
) -> list[ListedGroup]:
    """An empty filter matches everything; filters ignore case."""
    states = {state.lower() for state in states_filter}
    types = {group_type.lower() for group_type in types_filter}
    return [
        ListedGroup(group.group_id, group.protocol_type or "", group.state_name, group.group_type)
        for group in groups
        if (not states or group.state_name.lower() in states)
        and (not types or group.group_type.lower() in types)
    ]
