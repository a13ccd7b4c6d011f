"""What a signed-in user may do with services that do not know the user.

A Connect service and the pipelines of this machine are asked by the console, not by the user. So
the cluster's access rules are looked at first.
"""

from barnabas.client.admin.brokers import cluster_operations
from barnabas.console.endpoint import Call
from barnabas.errors import NotAuthorized
from barnabas.wire.acl_codes import AclOperation
from barnabas.wire.errors import ErrorCode


async def check_cluster_access(call: Call, operation: AclOperation) -> None:
    """Raises `NotAuthorized` for a user who may not do this with the cluster as a whole."""
    if not call.options.sign_in:
        return
    if operation not in await cluster_operations(call.cluster.client):
        raise NotAuthorized(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            f"this needs {operation.name} of the cluster, which this user does not have",
        )
