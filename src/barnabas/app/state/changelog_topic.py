"""The topic of a handler's state: created once, checked at each start.

A changelog that is missing although the group has committed offsets was deleted. It is not created
then: the handler would go on without the state of all keys, and nobody would be told. Where a
handler is to go on without the state of before, the changelog is created first: see `rebuild`.
"""

import asyncio
from contextlib import suppress

from barnabas import aio
from barnabas.app.state.changelog import ChangelogNames
from barnabas.errors import BrokerError, InvalidArgument, StateLost
from barnabas.quantities import counted

_IN_SYNC = "min.insync.replicas"
_POLICY = "cleanup.policy"
_LIMIT = "max.message.bytes"
_LOOKS = 25
_LOOK_AGAIN_S = 0.2
TOMBSTONES_MS = 24 * 3600 * 1000
"""How long a changelog keeps what deletes a key."""


async def ensure_changelog(admin: aio.Admin, names: ChangelogNames) -> None:
    """Create it if it was never there; raises if it is lost, or differs from its source."""
    source = await _partitions(admin, names.source)
    if source is None:
        raise InvalidArgument(f"the topic {names.source} no longer exists")
    if await _partitions(admin, names.topic) is None:
        if not await _has_begun(admin, names):
            await create_changelog(admin, names)
        elif not await _appears(admin, names):
            raise StateLost(
                f"handler {names.handler}: its changelog {names.topic} does not exist, and group "
                f"{names.group} has handled records of {names.source}: the topic was deleted, or "
                f"the handler had no state before. {names.remedy} Or, with --empty, begin with no "
                "state, where the group is"
            )
    found = await _partitions(admin, names.topic)
    if found is not None:
        await _check(admin, names, found, source)


async def _partitions(admin: aio.Admin, topic: str) -> int | None:
    """How many a topic has; None if there is none."""
    known = await admin.topics()
    return len(known[topic].partitions) if topic in known else None


async def _appears(admin: aio.Admin, names: ChangelogNames) -> bool:
    """Another worker may have created it, and the broker that was asked may not know it yet."""
    for _ in range(_LOOKS):
        await asyncio.sleep(_LOOK_AGAIN_S)
        if await _partitions(admin, names.topic) is not None:
            return True
    return False


async def _has_begun(admin: aio.Admin, names: ChangelogNames) -> bool:
    """Whether the group may have handled records, which is not before there is a changelog.

    What it has handled may be gone from the source by now, so where that begins says nothing.
    """
    committed = await admin.group_offsets(names.group)
    return any(offset > 0 for each, offset in committed.items() if each.topic == names.source)


async def create_changelog(admin: aio.Admin, names: ChangelogNames) -> None:
    """With the partitions of its source, and as safe."""
    source = await admin.describe_topic(names.source)
    configs: dict[str, int | str] = {_POLICY: "compact", "delete.retention.ms": TOMBSTONES_MS}
    with suppress(BrokerError):  # it is not allowed to ask
        found = await admin.configs(topic=names.source)
        for name in (_IN_SYNC, _LIMIT):
            if name in found and found[name].value:
                configs[name] = str(found[name].value)
    await admin.create_topic(
        names.topic,
        partitions=len(source.partitions),
        replication_factor=min(len(each.replicas) for each in source.partitions),
        configs=configs,
        exist_ok=True,
    )


async def _check(admin: aio.Admin, names: ChangelogNames, count: int, wanted: int) -> None:
    if count != wanted:
        raise StateLost(
            f"{names.topic} has {counted(count, 'partition')}, and {names.source} has {wanted}: "
            f"keys are in other partitions now, and their state is not. {names.remedy}"
        )
    with suppress(BrokerError, KeyError):  # it is not allowed to ask
        policy = (await admin.configs(topic=names.topic))[_POLICY].value
        if policy != "compact":
            raise StateLost(
                f"{names.topic} has {_POLICY}={policy}, which deletes state that is in use. If the "
                "setting is new, and nothing was deleted yet, run: "
                f"barnabas configs set topic {names.topic} {_POLICY}=compact. Otherwise the state "
                f"may be lost. {names.remedy}"
            )
