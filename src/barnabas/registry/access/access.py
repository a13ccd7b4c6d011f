"""The caller of a request, by the name and password in it."""

import binascii
from base64 import b64decode
from types import TracebackType
from typing import Self

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.security_settings import security_settings
from barnabas.client.users.failed_sign_ins import TooManyFailuresError
from barnabas.errors import BarnabasError, SignInFailed
from barnabas.registry.access.caller import Caller
from barnabas.registry.access.rules import SubjectRules
from barnabas.registry.access.tried_passwords import TriedPasswords
from barnabas.registry.model.errors import not_signed_in, store_failed, too_many_requests
from barnabas.registry.settings import RegistrySettings
from barnabas.security.address import canonical_address
from barnabas.web.messages import Request

_BASIC = "basic "
_TIMEOUT_MS = 5_000


class RegistryAccess:
    """Signs users in."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._topic = settings.topic
        self._cluster = ClusterClient(
            settings.bootstrap,
            client_id="schema-registry",
            connect_timeout_ms=_TIMEOUT_MS,
            request_timeout_ms=_TIMEOUT_MS,
            retry_timeout_ms=_TIMEOUT_MS,
            security=security_settings(settings.security),
        )
        self._passwords = TriedPasswords(settings)
        self._rules = SubjectRules(self._cluster)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self._cluster.close()

    async def caller(self, request: Request) -> Caller:
        """Raises `RegistryRefusal`."""
        user, password = _credentials(request)
        try:
            operations = await self._passwords.operations(user, password, request.peer)
            rules = await self._rules.current()
        except SignInFailed:
            raise not_signed_in("the cluster does not accept this user and password") from None
        except TooManyFailuresError as error:
            raise too_many_requests(str(error)) from None
        except BarnabasError as error:
            raise store_failed(f"users can't sign in now: {error}") from error
        return Caller(user, canonical_address(request.peer), self._topic, operations, rules)


def _credentials(request: Request) -> tuple[str, str]:
    header = request.headers.get("authorization", "")
    if not header.lower().startswith(_BASIC):
        raise not_signed_in("sign in with the name and password of a user of the cluster")
    try:
        text = b64decode(header[len(_BASIC) :], validate=True).decode()
    except (binascii.Error, ValueError):
        raise not_signed_in("the header Authorization can't be read") from None
    user, colon, password = text.partition(":")
    if not colon or not user:
        raise not_signed_in("the header Authorization has no user and password")
    return user, password
