"""Delegation tokens: created, listed, renewed, expired.

The HMAC of a token is what a client signs in with. It is in no `repr`.
"""

import time
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.client.admin.acls import principal_of
from barnabas.client.admin.doubt import Doubt
from barnabas.client.connect.broker_errors import broker_error, check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import BrokerError, InvalidArgument
from barnabas.security.principal import Principal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from barnabas.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest

_DEFAULT = -1
"""The broker decides; for an expiry: now."""


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token; principals are written as `User:alice`, times are milliseconds since 1970."""

    token_id: str
    hmac: bytes = field(repr=False)
    """Empty in a list, unless one may use the token: as its owner or as one of its renewers."""
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int

    @property
    def password(self) -> str:
        """The HMAC in the form in which a client signs in with it, as the user `token_id`."""
        return b64encode(self.hmac).decode()

    def client_settings(self, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """What a client of Barnabas signs in with; `security.protocol` is not among it."""
        return {
            "sasl.mechanism": mechanism,
            "sasl.username": self.token_id,
            "sasl.password": self.password,
            "sasl.tokenauth": "true",
        }


async def create_token(
    cluster: ClusterClient,
    *,
    owner: str | None = None,
    renewers: Iterable[str] = (),
    max_lifetime_ms: int | None = None,
) -> DelegationToken:
    """A token of one's own, or of another user, for which one needs CREATE_TOKENS on that user."""
    owned_by = None if owner is None else _principal(owner)
    may_renew = [_principal(each) for each in renewers]
    request = CreateDelegationTokenRequest(
        *(owned_by or ("", "")),
        [CreatableRenewers(*each) for each in may_renew],
        _DEFAULT if max_lifetime_ms is None else max_lifetime_ms,
    )

    async def attempt() -> DelegationToken:
        made = await (await cluster.any_connection()).send(request)
        check(made.error_code, "delegation token")
        return DelegationToken(
            made.token_id,
            bytes(made.hmac),
            str(Principal(made.principal_type, made.principal_name)),
            str(
                Principal(made.token_requester_principal_type, made.token_requester_principal_name)
            ),
            tuple(map(str, may_renew)),
            made.issue_timestamp_ms,
            made.expiry_timestamp_ms,
            made.max_timestamp_ms,
        )

    return await cluster.retrying(attempt)


async def describe_tokens(
    cluster: ClusterClient, owners: Iterable[str] | None = None
) -> list[DelegationToken]:
    """All that one may see, or those that concern these users."""
    asked = None
    if owners is not None:
        asked = [DescribeDelegationTokenOwner(*_principal(each)) for each in owners]
    request = DescribeDelegationTokenRequest(asked)

    async def attempt() -> list[DelegationToken]:
        response = await (await cluster.any_connection()).send(request)
        check(response.error_code, "delegation tokens")
        found = map(_described, response.tokens)
        return sorted(found, key=lambda token: (token.owner, token.issue_timestamp_ms))

    return await cluster.retrying(attempt)


async def find_token(cluster: ClusterClient, token_id: str) -> DelegationToken:
    """One that one may use. Raises `BrokerError`."""
    what = f"delegation token {token_id}"
    for token in await describe_tokens(cluster):
        if token.token_id == token_id:
            if not token.hmac:
                raise broker_error(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, what)
            return token
    raise broker_error(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, what)


async def renew_token(cluster: ClusterClient, hmac: bytes, period_ms: int | None = None) -> int:
    """When it expires now; by default after `delegation.token.expiry.time.ms`."""
    request = RenewDelegationTokenRequest(hmac, _DEFAULT if period_ms is None else period_ms)

    async def attempt() -> int:
        response = await (await cluster.any_connection()).send(request)
        check(response.error_code, "delegation token")
        return response.expiry_timestamp_ms

    return await cluster.retrying(attempt)


async def expire_token(cluster: ClusterClient, hmac: bytes, after_ms: int | None = None) -> int:
    """When it expires: now, unless a time is given."""
    request = ExpireDelegationTokenRequest(hmac, _DEFAULT if after_ms is None else after_ms)

    doubt = Doubt()

    async def attempt() -> int:
        try:
            with doubt.about_failures():
                response = await (await cluster.any_connection()).send(request)
                check(response.error_code, "delegation token")
        except BrokerError as error:
            if not doubt.is_open or error.code is not ErrorCode.DELEGATION_TOKEN_NOT_FOUND:
                raise
            return time.time_ns() // 1_000_000  # it is gone, so it expired before now
        return response.expiry_timestamp_ms

    return await cluster.retrying(attempt)


def _principal(user: str) -> Principal:
    try:
        return Principal.parse(principal_of(user))
    except ValueError as error:
        raise InvalidArgument(str(error)) from None


def _described(token: DescribedDelegationToken) -> DelegationToken:
    return DelegationToken(
        token.token_id,
        bytes(token.hmac),
        str(Principal(token.principal_type, token.principal_name)),
        str(Principal(token.token_requester_principal_type, token.token_requester_principal_name)),
        tuple(str(Principal(each.principal_type, each.principal_name)) for each in token.renewers),
        token.issue_timestamp,
        token.expiry_timestamp,
        token.max_timestamp,
    )
