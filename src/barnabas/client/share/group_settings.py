"""Settings of a share group, which members do not send: where it starts, and what it sees.

Brokers start a new group at the end of the log by default (share.auto.offset.reset=latest), so that
jobs which were put before the first worker came would never be done. And they deliver records of
open and aborted transactions (share.isolation.level=read_uncommitted). A queue therefore sets both,
unless the group has a value of its own.
"""

import logging
from collections.abc import Mapping

from barnabas.client.admin.configs import ResourceType, alter_configs, describe_configs
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BrokerError, InvalidArgument, ProtocolMismatch

START = "share.auto.offset.reset"
ISOLATION = "share.isolation.level"
_DELIVERY_LIMIT = "share.delivery.count.limit"

_log = logging.getLogger("barnabas.client")


async def set_group_settings(
    cluster: ClusterClient, group_id: str, settings: Mapping[str, str]
) -> None:
    """Set what the group has not set. A broker that refuses is not an error: a log says so."""
    try:
        described = await describe_configs(
            cluster, ResourceType.GROUP, [group_id], keys=list(settings)
        )
        kept = {
            each.name
            for each in described.get(group_id, [])
            if each.is_own or each.value == settings.get(each.name)
        }
        missing = {name: value for name, value in settings.items() if name not in kept}
        if missing:
            await alter_configs(cluster, ResourceType.GROUP, group_id, settings=missing)
    except (BrokerError, ProtocolMismatch) as error:
        _log.warning(
            "group %s does not have the settings %s: %s. Have an administrator set them, or the "
            "group starts at the end of the log and sees aborted transactions",
            group_id,
            ", ".join(f"{name}={value}" for name, value in settings.items()),
            error,
        )


async def delivery_limit(cluster: ClusterClient, group_id: str) -> int | None:
    """After how many deliveries brokers drop a job; None if they do not say."""
    try:
        described = await describe_configs(
            cluster, ResourceType.GROUP, [group_id], keys=[_DELIVERY_LIMIT]
        )
    except (BrokerError, ProtocolMismatch):
        return None
    values = {each.name: each.value for each in described.get(group_id, [])}
    return int(values.get(_DELIVERY_LIMIT) or 0) or None


async def check_delivery_limit(cluster: ClusterClient, group_id: str, max_deliveries: int) -> None:
    """Raise if brokers would drop a job before the queue makes it a dead letter.

    A group that may not be read, or a broker that does not say, is not an error.
    """
    limit = await delivery_limit(cluster, group_id)
    if limit is not None and limit <= max_deliveries:
        raise InvalidArgument(
            f"max_deliveries={max_deliveries}: brokers drop a job of group {group_id} after "
            f"{limit} deliveries ({_DELIVERY_LIMIT}), so it must be less than that; or "
            f"raise the limit: barnabas configs set group {group_id} "
            f"{_DELIVERY_LIMIT}={max_deliveries + 1}"
        )
