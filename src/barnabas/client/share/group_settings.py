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
from barnabas.errors import BrokerError, ProtocolMismatch

START = "share.auto.offset.reset"
ISOLATION = "share.isolation.level"

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
