"""Names and passwords of users of the cluster, tried at the brokers."""

import asyncio
import hmac
import secrets
from collections.abc import Coroutine
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeAlias

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.security_settings import security_settings
from barnabas.client.rights.topic_operations import topic_operations
from barnabas.client.users.failed_sign_ins import FailedSignIns
from barnabas.client.users.user_security import user_security
from barnabas.errors import BarnabasError, InvalidArgument, SignInFailed
from barnabas.registry.settings import RegistrySettings
from barnabas.wire.acl_codes import AclOperation

_TRUSTED_S = 10.0
"""After this time at the latest a changed password holds, and a changed rule about the topic."""
_MAX_KNOWN = 1_000
_CLIENT = "schema-registry"
_TIMEOUT_MS = 5_000

_Attempt: TypeAlias = Coroutine[Any, Any, frozenset[AclOperation]]


@dataclass(slots=True)
class _Known:
    operations: frozenset[AclOperation]
    checked_at: float = field(default_factory=monotonic)


class TriedPasswords:
    """Known users are tried again from time to time, and believed while no broker answers."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._failed = FailedSignIns()
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, _Known] = {}
        """By keyed hashes: passwords are not kept. In order of their first use."""
        self._trying: dict[bytes, asyncio.Task[frozenset[AclOperation]]] = {}

    async def operations(self, user: str, password: str, host: str) -> frozenset[AclOperation]:
        """What brokers let the user do with the topic of the schemas.

        Raises `SignInFailed`, `TooManyFailuresError`, or `BarnabasError` if no broker answers.
        """
        key = hmac.digest(self._key, f"{user}\0{password}".encode(), "sha256")
        known = self._known.get(key)
        if known is not None and monotonic() - known.checked_at < _TRUSTED_S:
            return known.operations
        if known is None:
            return await self._tried(key, self._first(user, password, host))
        try:
            return await self._tried(key, self._connect(user, password))
        except SignInFailed:
            self._known.pop(key, None)
            raise
        except BarnabasError:
            known.checked_at = monotonic()
            return known.operations

    async def _tried(self, key: bytes, attempt: _Attempt) -> frozenset[AclOperation]:
        """One attempt for all requests that wait for the same."""
        task = self._trying.get(key)
        if task is None:
            task = asyncio.ensure_future(attempt)
            self._trying[key] = task
            task.add_done_callback(lambda _: self._trying.pop(key, None))
        else:
            attempt.close()
        operations = await asyncio.shield(task)
        self._known[key] = _Known(operations)
        if len(self._known) > _MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return operations

    async def _first(self, user: str, password: str, host: str) -> frozenset[AclOperation]:
        with self._failed.attempt(user, host):
            return await self._connect(user, password)

    async def _connect(self, user: str, password: str) -> frozenset[AclOperation]:
        given = self._settings
        try:
            security = security_settings(user_security(given.security, user, password))
        except InvalidArgument as error:
            raise SignInFailed(str(error)) from None
        cluster = ClusterClient(
            given.bootstrap,
            client_id=_CLIENT,
            connect_timeout_ms=_TIMEOUT_MS,
            request_timeout_ms=_TIMEOUT_MS,
            retry_timeout_ms=_TIMEOUT_MS,
            security=security,
        )
        try:
            return await topic_operations(cluster, given.topic)
        finally:
            await cluster.close()
