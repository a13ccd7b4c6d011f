"""The state of the service: two compacted topics as tables."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from barnabas.aio.admin import Admin
from barnabas.aio.table import Table
from barnabas.connect.settings import ServiceSettings
from barnabas.connect.state.records import (
    LEADER,
    ConnectorStatus,
    Definition,
    Leader,
    definitions_in,
    leader_in,
    status_in,
    status_key,
)
from barnabas.errors import InvalidArgument

_CONFIGS = {"cleanup.policy": "compact", "segment.bytes": "4194304"}
_CURRENT_TIMEOUT_S = 30.0


class StateTopics:
    """Reads the state; only the leader writes it (`leadership`)."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._configs = self._table(settings.configs_topic)
        self._status = self._table(settings.status_topic)
        self._open = AsyncExitStack()
        self.cluster_id = ""

    def _table(self, topic: str) -> Table:
        return Table(
            self._settings.bootstrap,
            topic,
            key_format="str",
            value_format="json",
            client_id=f"{self._settings.group}-state",
            security=self._settings.security,
        )

    async def __aenter__(self) -> Self:
        given = self._settings
        async with Admin(given.bootstrap, security=given.security) as admin:
            self.cluster_id = (await admin.cluster()).cluster_id or ""
            for topic in (self._settings.configs_topic, self._settings.status_topic):
                await self._make(admin, topic)
        await self._open.enter_async_context(self._configs)
        await self._open.enter_async_context(self._status)
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self._open.aclose()

    async def _make(self, admin: Admin, topic: str) -> None:
        await admin.create_topic(
            topic,
            partitions=1,
            replication_factor=self._settings.replication_factor,
            configs=_CONFIGS,
            exist_ok=True,
        )
        policy = (await admin.configs(topic=topic))["cleanup.policy"].value
        if policy != "compact":
            raise InvalidArgument(
                f"topic {topic} has cleanup.policy={policy}, and would lose connectors: "
                f"barnabas configs set topic {topic} cleanup.policy=compact"
            )
        found = len((await admin.describe_topic(topic)).partitions)
        if found != 1:
            raise InvalidArgument(
                f"topic {topic} has {found} partitions, and the state of the service needs one: "
                "name another topic"
            )

    async def catch_up(self) -> None:
        """Read all that is written by now."""
        await self._configs.wait_until_current(_CURRENT_TIMEOUT_S)
        await self._status.wait_until_current(_CURRENT_TIMEOUT_S)

    @property
    def definitions(self) -> dict[str, Definition]:
        return definitions_in(self._configs.items())

    def definition(self, name: str) -> Definition | None:
        return self.definitions.get(name)

    def status(self, name: str) -> ConnectorStatus | None:
        return status_in(self._status.get(status_key(name)))

    @property
    def leader(self) -> Leader | None:
        return leader_in(self._status.get(LEADER))

    def records(self) -> dict[str, Any]:
        """All keys and values of the status topic, for tests of what is kept."""
        return dict(self._status.items())
