"""Building the state of a handler again, from the records of its source topic.

    plan        what would be handled again, and what is missing for that; changes nothing
    rebuild     delete the changelog, put the group at the beginning of the source, and create it
    empty       delete the changelog, and create it

The application does the rest when it starts: it handles the records. The changelog goes first, and
comes last: a handler never starts without it where the group has committed offsets, so a rebuild
that is cut short ends with the same error as before, and is done again. A source that has lost its
beginning has no first offset that tells a group that is to handle all from one that has handled all
that is gone: only the new changelog does.
"""

from typing import NamedTuple

from barnabas import aio
from barnabas.app.state.changelog import ChangelogNames
from barnabas.app.state.changelog_topic import create_changelog
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import GroupNotEmpty, UnknownGroup, UnknownTopic
from barnabas.quantities import counted
from barnabas.wire.errors import ErrorCode


class RebuildPlan(NamedTuple):
    """How many offsets are handled again, and why not all that were handled once are among them."""

    offsets: int
    gaps: list[str]


async def plan_rebuild(admin: aio.Admin, names: ChangelogNames) -> RebuildPlan:
    """Raises `GroupNotEmpty` if the application runs."""
    await _check_stopped(admin, names)
    first = await admin.offsets(names.source, "earliest")
    committed = await admin.group_offsets(names.group)
    handled = {each: max(0, committed.get(each, 0) - offset) for each, offset in first.items()}
    return RebuildPlan(sum(handled.values()), [*_gaps(first), *await _compacted(admin, names)])


async def rebuild(admin: aio.Admin, names: ChangelogNames) -> None:
    """The application handles everything again at its next start."""
    await _check_stopped(admin, names)
    await admin.delete_topic(names.topic, missing_ok=True)
    await admin.set_group_offsets(names.group, "earliest", topics=names.source)
    await create_changelog(admin, names)


async def empty(admin: aio.Admin, names: ChangelogNames) -> None:
    """The application begins with no state at its next start, where the group is."""
    await _check_stopped(admin, names)
    await admin.delete_topic(names.topic, missing_ok=True)
    await create_changelog(admin, names)


async def _check_stopped(admin: aio.Admin, names: ChangelogNames) -> None:
    try:
        members = len((await admin.describe_group(names.group)).members)
    except UnknownGroup:
        return
    if members:
        raise GroupNotEmpty(
            ErrorCode.NON_EMPTY_GROUP,
            f"group {names.group} has {counted(members, 'member')}: stop the application first; "
            "a process that was killed leaves its group after session_timeout_ms",
        )


def _gaps(first: dict[TopicPartition, int]) -> list[str]:
    return [f"{each} begins at offset {offset}" for each, offset in first.items() if offset]


async def _compacted(admin: aio.Admin, names: ChangelogNames) -> list[str]:
    try:
        policy = (await admin.configs(topic=names.source))["cleanup.policy"].value or ""
    except (UnknownTopic, KeyError):
        return []
    if "compact" not in policy:
        return []
    return [f"{names.source} has cleanup.policy={policy}, which keeps the last record of each key"]
