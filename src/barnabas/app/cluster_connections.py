"""Clients of a cluster, for the handlers of an application."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from barnabas import aio
from barnabas.app.outgoing import ReturnedFormat
from barnabas.app.ports import Delayed, Jobs, Revoke, Sink, Source
from barnabas.app.runners.delayed_records import DelayedRecords
from barnabas.app.state.changelog import Changelog, ChangelogNames
from barnabas.app.state.cluster_changelog import ClusterChangelog
from barnabas.app.values.model_values import loaded
from barnabas.client.admin.companion_topic import HEADER_BYTES, ensure_companion
from barnabas.client.admin.transactions import fence_abandoned
from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.consumer.consumer_options import IsolationName
from barnabas.client.offsets.offset_spec import Where
from barnabas.client.producer.dead_letters import KEPT_FOREVER
from barnabas.client.rights.probe import missing_rights
from barnabas.client.rights.report import UNKNOWN_USER, rights_error
from barnabas.client.rights.right import Right
from barnabas.client.share.delivery_limit import DEFAULT_LIMIT
from barnabas.errors import BarnabasError, BrokerError
from barnabas.formats import Format

_IN_SYNC = "min.insync.replicas"
_RIGHTS_S = 5

_log = logging.getLogger("barnabas.app")


class _PreparedQueue(aio.Queue):
    """Asks for the schema of a job before it is handled."""

    known: Format | None = None

    async def get(self, timeout_s: float | None = None) -> Any:
        job = await super().get(timeout_s)
        data = None if job is None else job.record.value
        if job is not None and data is not None and self.known is not None:
            try:
                await loaded(partial(self.known.decode, data))
            except BarnabasError:
                job.release()
                raise
        return job


class ClusterConnections:
    """`options` are those of the consumers, such as group_protocol or session_timeout_ms."""

    def __init__(
        self,
        bootstrap_servers: BootstrapServers,
        client_id: str,
        security: Mapping[str, SecurityValue] | None,
        options: Mapping[str, Any],
    ) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.security = security
        self.client_id = client_id
        self._options = dict(options)

    def source(
        self,
        topics: Sequence[str],
        group: str | None,
        *,
        commit: str,
        start: Where | None,
        on_revoked: Revoke | None,
        on_lost: Revoke | None,
        schemas: Format | None = None,
        isolation: IsolationName | None = None,
    ) -> Source:
        options: dict[str, Any] = {"commit_interval_ms": 1_000, **self._options}
        if start is not None:
            options["start"] = start
        if schemas is not None:
            options["value_format"] = schemas
        if isolation is not None:
            options["isolation"] = isolation
        consumer = aio.Consumer(
            self.bootstrap_servers,
            topics,
            group=group,
            commit=cast("Any", commit),
            on_revoked=on_revoked,
            on_lost=on_lost,
            client_id=self.client_id,
            security=self.security,
            **options,
        )
        return cast("Source", consumer)

    def jobs(
        self,
        topics: Sequence[str],
        group: str,
        *,
        prefetch: int,
        start: Any,
        schemas: Format | None = None,
        results_of: Sequence[str] = (),
    ) -> Jobs:
        queue = _PreparedQueue(
            self.bootstrap_servers,
            topics,
            group=group,
            start=start or "earliest",
            prefetch=prefetch,
            result_format=ReturnedFormat(),
            results_of=results_of,
            client_id=self.client_id,
            security=self.security,
        )
        queue.known = schemas
        return cast("Jobs", queue)

    async def delivery_limit(self, group: str) -> int:
        """The setting of the group; Kafka's default if it can't be read."""
        try:
            async with self._admin() as admin:
                found = (await admin.configs(group=group)).get("share.delivery.count.limit")
        except BarnabasError:
            found = None
        return int(found.value) if found is not None and found.value else DEFAULT_LIMIT

    def sink(
        self, *, transactional_id: str | None = None, transaction_timeout_s: float = 60.0
    ) -> Sink:
        producer = aio.Producer(
            self.bootstrap_servers,
            transactional_id=transactional_id,
            transaction_timeout_ms=max(1, round(transaction_timeout_s * 1000)),
            client_id=self.client_id,
            security=self.security,
        )
        return cast("Sink", producer)

    def changelog(self, names: ChangelogNames, *, patience_s: float) -> Changelog:
        return ClusterChangelog(names, self._admin, self._cluster, patience_s)

    def _admin(self) -> aio.Admin:
        return aio.Admin(self.bootstrap_servers, client_id=self.client_id, security=self.security)

    def _cluster(self) -> ClusterClient:
        return ClusterClient(
            self.bootstrap_servers,
            client_id=self.client_id,
            security=security_settings(self.security),
        )

    async def reach(self) -> None:
        async with self._cluster():
            pass

    def delayed(self, topics: Sequence[str]) -> Delayed:
        return DelayedRecords(
            self.bootstrap_servers, topics, client_id=self.client_id, security=self.security
        )

    async def check_rights(self, rights: Sequence[Right]) -> None:
        """What is denied at the start would be denied at the first record.

        Brokers that do not answer are no reason not to start: handlers wait for them.
        """
        if not rights:
            return
        security = security_settings(self.security)
        cluster = ClusterClient(
            self.bootstrap_servers,
            client_id=self.client_id,
            security=security,
            retry_timeout_ms=_RIGHTS_S * 1_000,
        )
        try:
            async with asyncio.timeout(_RIGHTS_S), cluster:
                missing = await missing_rights(cluster, rights)
        except (BarnabasError, TimeoutError) as error:
            reason = str(error) or f"no answer in {_RIGHTS_S} s"
            _log.warning("the rights of the application were not checked: %s", reason)
            return
        needed = [each for each in missing if not each.is_optional]
        if needed:
            user = security.sasl_username or UNKNOWN_USER
            raise rights_error(needed, f"application {self.client_id}", user)

    async def fence_abandoned(self, group: str, prefix: str) -> list[str]:
        async with self._cluster() as cluster:
            return await fence_abandoned(cluster, group, prefix)

    async def ensure_topics(self, like: dict[str, str], dead_letters: str | None = None) -> None:
        if not like:
            return
        async with self._admin() as admin:
            known = await admin.topics()
            for name, pattern in like.items():
                if name not in known and pattern not in known:
                    configs = KEPT_FOREVER if name == dead_letters else {}
                    await admin.create_topic(name, partitions=1, configs=configs, exist_ok=True)
        async with self._cluster() as cluster:
            for name, pattern in like.items():
                if name not in known and pattern in known:
                    await ensure_companion(
                        cluster,
                        pattern,
                        name,
                        partitions=lambda source: len(source.partitions),
                        configs=KEPT_FOREVER if name == dead_letters else {},
                        needs="write",
                        header_bytes=HEADER_BYTES,
                    )

    async def ensure_memory(self, name: str, *, like: str) -> None:
        async with self._admin() as admin:
            known = await admin.topics()
            if name in known:
                return
            configs: dict[str, int | str] = {"cleanup.policy": "compact"}
            copies = None
            if like in known:
                copies = min(len(each.replicas) for each in known[like].partitions)
                with suppress(BrokerError):  # it is not allowed to ask
                    found = (await admin.configs(topic=like)).get(_IN_SYNC)
                    if found is not None and found.value:
                        configs[_IN_SYNC] = found.value
            await admin.create_topic(
                name, partitions=1, replication_factor=copies, configs=configs, exist_ok=True
            )
