"""Delegation tokens: creating, renewing, expiring and forgetting them.

Who asks is what a node vouches for: the principal that has signed in there. All times are of the
wall clock, in milliseconds since 1970, because clients are told them.

Beyond Kafka there are bounds on how many tokens a principal creates, and on their renewers; a token
is only for users (`User:alice`).
"""

from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from barnabas.controller.decision import Refusal
from barnabas.controller.draft import Draft
from barnabas.metadata.delegation_tokens_image import DelegationToken
from barnabas.metadata.image import MetadataImage
from barnabas.security.delegation_tokens import token_hmac
from barnabas.security.principal import USER, Principal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from barnabas.wire.messages.metadata_records import RemoveDelegationTokenRecord
from barnabas.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

MAX_OF_ONE_REQUESTER = 1_000
MAX_RENEWERS = 100
MAX_NAME = 1_000
_FORGOTTEN_AT_A_TIME = 1_000
_END_OF_TIME = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TokenPolicy:
    """How long tokens live, and what their HMACs are made with."""

    secret: str | None = field(default=None, repr=False)
    """None: there are no tokens."""
    max_lifetime_ms: int = 7 * 24 * 3_600_000
    expiry_time_ms: int = 24 * 3_600_000
    """How long a token lives unless it is renewed."""
    check_interval_ms: int = 3_600_000


class DelegationTokens:
    """Decides about the tokens of an image; soft state is what it finds them by."""

    def __init__(
        self,
        policy: TokenPolicy,
        image: MetadataImage,
        new_uuid: Callable[[], bytes],
        wall_ms: Callable[[], int],
        now_ms: int,
    ) -> None:
        """`wall_ms` is the wall clock, `now_ms` the time of the controller's steady one."""
        self._policy = policy
        self._tokens = image.delegation_tokens.by_id
        self._new_uuid = new_uuid
        self._wall_ms = wall_ms
        self._next_check_ms = now_ms
        self._ids: dict[bytes, str] = {}
        """Ids by HMAC, by which clients name tokens."""
        self._requested: Counter[str] = Counter()
        """How many tokens each principal has created."""
        for token in self._tokens.values():
            self._enter(token)

    def _enter(self, token: DelegationToken) -> None:
        if self._policy.secret is not None:
            self._ids[token_hmac(self._policy.secret, token.token_id)] = token.token_id
        self._requested[token.requester] += 1

    def _remove(self, draft: Draft, token: DelegationToken) -> None:
        if self._policy.secret is not None:
            self._ids.pop(token_hmac(self._policy.secret, token.token_id), None)
        self._requested[token.requester] -= 1
        if not self._requested[token.requester]:
            del self._requested[token.requester]
        draft.write(RemoveDelegationTokenRecord(token.token_id))

    # -- requests ----------------------------------------------------------------------------------

    def create(
        self, draft: Draft, request: CreateDelegationTokenRequest, requester: Principal
    ) -> CreateDelegationTokenResponse:
        owner = owner_of(request, requester)
        response = CreateDelegationTokenResponse(
            0, owner.kind, owner.name, requester.kind, requester.name
        )
        try:
            token, response.hmac = self._new(request, owner, requester)
        except Refusal as refusal:
            response.error_code = refusal.error_code
            return response
        draft.write(token.record())
        self._enter(token)
        response.token_id = token.token_id
        response.issue_timestamp_ms = token.issue_timestamp_ms
        response.expiry_timestamp_ms = token.expiry_timestamp_ms
        response.max_timestamp_ms = token.max_timestamp_ms
        return response

    def _new(
        self, request: CreateDelegationTokenRequest, owner: Principal, requester: Principal
    ) -> tuple[DelegationToken, bytes]:
        """The token and its HMAC. Raises `Refusal`."""
        secret = self._secret()
        renewers = [
            Principal(each.principal_type, each.principal_name) for each in request.renewers
        ]
        for each in (owner, *renewers):
            if each.kind != USER or not 0 < len(each.name) <= MAX_NAME:
                raise Refusal(ErrorCode.INVALID_PRINCIPAL_TYPE, f"{each.kind} is not {USER}")
        if len(renewers) > MAX_RENEWERS or self._requested[str(requester)] >= MAX_OF_ONE_REQUESTER:
            raise Refusal(ErrorCode.POLICY_VIOLATION, "too many tokens or renewers")
        now_ms = self._wall_ms()
        lifetime_ms = _at_most(self._policy.max_lifetime_ms, request.max_lifetime_ms)
        max_timestamp_ms = _sum(now_ms, lifetime_ms)
        token_id = self._new_id()
        token = DelegationToken(
            token_id,
            str(owner),
            str(requester),
            tuple(map(str, renewers)),
            now_ms,
            max_timestamp_ms,
            min(max_timestamp_ms, _sum(now_ms, self._policy.expiry_time_ms)),
        )
        return token, token_hmac(secret, token_id)

    def _new_id(self) -> str:
        """Without a dash in front: a command would take it for an option."""
        while True:
            found = urlsafe_b64encode(self._new_uuid()).decode().rstrip("=")
            if not found.startswith("-"):
                return found

    def renew(
        self, draft: Draft, request: RenewDelegationTokenRequest, requester: Principal
    ) -> RenewDelegationTokenResponse:
        now_ms = self._wall_ms()
        try:
            token = self._found(bytes(request.hmac))
            if token.is_expired(now_ms):
                raise Refusal(ErrorCode.DELEGATION_TOKEN_EXPIRED, "the token has expired")
            _check_may_renew(token, requester)
        except Refusal as refusal:
            return RenewDelegationTokenResponse(refusal.error_code)
        lifetime_ms = _at_most(self._policy.expiry_time_ms, request.renew_period_ms)
        return RenewDelegationTokenResponse(0, _expire_at(draft, token, _sum(now_ms, lifetime_ms)))

    def expire(
        self, draft: Draft, request: ExpireDelegationTokenRequest, requester: Principal
    ) -> ExpireDelegationTokenResponse:
        """Now, if the time is negative; also a token that has expired and is still known."""
        now_ms = self._wall_ms()
        period_ms = request.expiry_time_period_ms
        try:
            token = self._found(bytes(request.hmac))
            _check_may_renew(token, requester)
            if period_ms < 0:
                self._remove(draft, token)
                return ExpireDelegationTokenResponse(0, now_ms)
            if token.is_expired(now_ms):
                raise Refusal(ErrorCode.DELEGATION_TOKEN_EXPIRED, "the token has expired")
        except Refusal as refusal:
            return ExpireDelegationTokenResponse(refusal.error_code)
        return ExpireDelegationTokenResponse(0, _expire_at(draft, token, _sum(now_ms, period_ms)))

    def _secret(self) -> str:
        if self._policy.secret is None:
            raise Refusal(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, "there is no secret")
        return self._policy.secret

    def _found(self, given: bytes) -> DelegationToken:
        """The token with this HMAC. Raises `Refusal`."""
        self._secret()
        token_id = self._ids.get(given)
        if token_id is None:
            raise Refusal(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "there is no such token")
        return self._tokens[token_id]

    # -- time --------------------------------------------------------------------------------------

    def next_check_ms(self) -> int | None:
        """When to look for expired tokens, by the steady clock; None as long as there are none."""
        return self._next_check_ms if self._tokens else None

    def forget_expired(self, draft: Draft, now_ms: int) -> None:
        """Remove what has expired, if it is time to look; some at a time if there is much."""
        if not self._tokens or now_ms < self._next_check_ms:
            return
        wall_ms = self._wall_ms()
        expired = [token for token in self._tokens.values() if token.is_expired(wall_ms)]
        for token in expired[:_FORGOTTEN_AT_A_TIME]:
            self._remove(draft, token)
        is_done = len(expired) <= _FORGOTTEN_AT_A_TIME
        self._next_check_ms = now_ms + (self._policy.check_interval_ms if is_done else 1)


def owner_of(request: CreateDelegationTokenRequest, requester: Principal) -> Principal:
    """Whose token is asked for; as in Kafka, the requester's unless a name is given."""
    if not request.owner_principal_name:
        return requester
    return Principal(request.owner_principal_type or "", request.owner_principal_name)


def _check_may_renew(token: DelegationToken, requester: Principal) -> None:
    if not token.may_renew(str(requester)):
        raise Refusal(
            ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, "neither its owner nor one of its renewers"
        )


def _expire_at(draft: Draft, token: DelegationToken, timestamp_ms: int) -> int:
    expiry_ms = min(token.max_timestamp_ms, timestamp_ms)
    draft.write(replace(token, expiry_timestamp_ms=expiry_ms).record())
    return expiry_ms


def _at_most(limit_ms: int, asked_ms: int) -> int:
    return min(limit_ms, asked_ms) if asked_ms > 0 else limit_ms


def _sum(left_ms: int, right_ms: int) -> int:
    return min(left_ms + right_ms, _END_OF_TIME)
