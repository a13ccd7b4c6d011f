"""Checks the rights of a client before it needs them."""

from collections.abc import Sequence

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.rights.probe import missing_rights
from barnabas.client.rights.report import UNKNOWN_USER, rights_error
from barnabas.client.rights.right import Right
from barnabas.errors import NotAuthorized


async def denial_of(
    cluster: ClusterClient, rights: Sequence[Right], who: str
) -> NotAuthorized | None:
    """The error with the commands that grant what `who` lacks; None if it lacks nothing.

    Optional rights are left out. Raises what keeps brokers from answering.
    """
    missing = await missing_rights(cluster, [each for each in rights if not each.is_optional])
    return rights_error(missing, who, cluster.user or UNKNOWN_USER) if missing else None
