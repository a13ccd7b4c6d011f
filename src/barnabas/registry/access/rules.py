"""The cluster's access rules about topics: those with names of subjects are looked at."""

import asyncio
import logging
from time import monotonic

from barnabas.client.admin.acls import describe_acls
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BarnabasError, BrokerError, NotAuthorized
from barnabas.metadata.acl import Acl, AclFilter
from barnabas.security.authorizer.standard_authorizer import StandardAuthorizer
from barnabas.wire.acl_codes import PatternType, ResourceType
from barnabas.wire.errors import ErrorCode

_log = logging.getLogger("barnabas.registry")
_FRESH_S = 5.0
"""After this time at the latest a changed rule holds."""
_TOPICS = AclFilter(ResourceType.TOPIC, None, PatternType.ANY)


class SubjectRules:
    """Asked for when they are needed; while no broker answers, the last ones hold."""

    def __init__(self, cluster: ClusterClient) -> None:
        """`cluster` is connected as the registry itself."""
        self._cluster = cluster
        self._rules = StandardAuthorizer()
        self._asked_at: float | None = None
        self._lock = asyncio.Lock()
        self._warned = ""

    async def current(self) -> StandardAuthorizer:
        """Raises `BarnabasError` as long as no broker has ever answered."""
        async with self._lock:
            if self._asked_at is None or monotonic() - self._asked_at > _FRESH_S:
                await self._refresh()
        return self._rules

    async def _refresh(self) -> None:
        try:
            found = await self._described()
        except BarnabasError as error:
            if self._asked_at is None:
                raise
            self._warn(
                f"the cluster's access rules can't be asked for, the last ones hold: {error}"
            )
        else:
            rules = StandardAuthorizer()
            rules.replace(found)
            self._rules = rules
        self._asked_at = monotonic()

    async def _described(self) -> list[Acl]:
        try:
            return await describe_acls(self._cluster, _TOPICS)
        except NotAuthorized:
            self._warn(
                "the registry may not see the cluster's access rules, so rules about single "
                "subjects do not count; its user needs: barnabas acls add USER describe --cluster"
            )
        except BrokerError as error:
            if error.code != ErrorCode.SECURITY_DISABLED:
                raise
        return []

    def _warn(self, text: str) -> None:
        if text != self._warned:
            self._warned = text
            _log.warning("%s", text)
