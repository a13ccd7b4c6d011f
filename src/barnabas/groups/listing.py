"""ListGroups: groups of all kinds, by state and type."""

from collections.abc import Iterable, Iterator, Sequence

from barnabas.groups.group import Group
from barnabas.wire.messages.list_groups import ListedGroup


def listing(
    groups: Iterable[Group], states_filter: Sequence[str], types_filter: Sequence[str]
) -> Iterator[ListedGroup | None]:
    """Each group, or None where the filters leave one out, so that the caller can stop in between.

    An empty filter matches everything; filters ignore case. `groups` must not change meanwhile.
    """
    states = {state.lower() for state in states_filter}
    types = {group_type.lower() for group_type in types_filter}
    for group in groups:
        is_listed = (not states or group.state_name.lower() in states) and (
            not types or group.group_type.lower() in types
        )
        yield _listed(group) if is_listed else None


def _listed(group: Group) -> ListedGroup:
    return ListedGroup(
        group.group_id, group.protocol_type or "", group.state_name, group.group_type
    )
