"""Open transactions whose producers are gone, told from the members of a group.

For services that read as members of a group, and whose transactional ids end with the id of the
member: an open transaction without its member is nobody's, whatever its timeout. To fence it, its
id is taken over as a new producer would.
"""

from collections.abc import Collection

from barnabas.client.admin.groups import describe_group
from barnabas.client.admin.transactions import fence_producer, list_transactions
from barnabas.client.connect.cluster_client import ClusterClient

_OPEN = "Ongoing"  # those that are being ended already need nobody


def is_abandoned(transactional_id: str, prefix: str, members: Collection[str]) -> bool:
    """Whether an id belongs to the prefix, and to none of the members of the group."""
    return transactional_id.startswith(prefix) and not any(
        transactional_id.endswith(f".{each}") for each in members
    )


async def fence_abandoned(cluster: ClusterClient, group_id: str, prefix: str) -> list[str]:
    """Roll back the open transactions of producers that are no longer in the group.

    Returns their ids. The group is asked after the transactions: an id in that list belongs to a
    member that had joined by then, so one that is missing in the group has left it since, and
    nothing that it still does can be committed there. Taking over the id of a producer that lives
    costs it one transaction, and never doubles or loses a record.
    """
    listed = await list_transactions(cluster, states=[_OPEN])
    candidates = [
        each.transactional_id for each in listed if each.transactional_id.startswith(prefix)
    ]
    if not candidates:
        return []
    members = {each.member_id for each in (await describe_group(cluster, group_id)).members}
    abandoned = [each for each in candidates if is_abandoned(each, prefix, members)]
    for each in abandoned:
        await fence_producer(cluster, each)
    return abandoned
