"""What the controller decides about delegation tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.controller_config import ControllerConfig
from barnabas.controller.delegation_tokens import (
    MAX_OF_ONE_REQUESTER,
    MAX_RENEWERS,
    TokenPolicy,
)
from barnabas.metadata.image import MetadataImage
from barnabas.security.delegation_tokens import token_hmac
from barnabas.security.principal import Principal
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from barnabas.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from tests.controller.small_cluster import SmallCluster

ANN, BOB, EVE = (Principal("User", name) for name in ("ann", "bob", "eve"))
POLICY = TokenPolicy("secret", max_lifetime_ms=1000, expiry_time_ms=300, check_interval_ms=50)
START_MS = 10_000


class Tokens:
    """Tokens of a cluster, and a wall clock."""

    def __init__(self, policy: TokenPolicy = POLICY) -> None:
        self.cluster = SmallCluster(0, ControllerConfig(tokens=policy))
        self.cluster.wall_ms = START_MS

    @property
    def image(self) -> MetadataImage:
        return self.cluster.agreed

    def sleep(self, ms: int) -> None:
        self.cluster.wall_ms += ms

    def create(
        self, who: Principal = ANN, owner: Principal | None = None, **given: Any
    ) -> CreateDelegationTokenResponse:
        kind, name = owner or (None, None)
        renewers = [CreatableRenewers(*each) for each in given.pop("renewers", ())]
        request = CreateDelegationTokenRequest(kind, name, renewers, **given)
        return self.cluster.agree(self.cluster.controller.create_delegation_token(request, who))

    def renew(
        self, hmac: bytes, who: Principal = ANN, ms: int = -1
    ) -> RenewDelegationTokenResponse:
        request = RenewDelegationTokenRequest(hmac, ms)
        return self.cluster.agree(self.cluster.controller.renew_delegation_token(request, who))

    def expire(
        self, hmac: bytes, who: Principal = ANN, ms: int = -1
    ) -> ExpireDelegationTokenResponse:
        request = ExpireDelegationTokenRequest(hmac, ms)
        return self.cluster.agree(self.cluster.controller.expire_delegation_token(request, who))


def test_a_token_of_ones_own() -> None:
    tokens = Tokens()
    made = tokens.create(renewers=[BOB])
    assert (made.error_code, made.principal_name, made.token_requester_principal_name) == (
        0,
        "ann",
        "ann",
    )
    assert made.hmac == token_hmac("secret", made.token_id)
    assert (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms) == (
        START_MS,
        START_MS + 300,
        START_MS + 1000,
    )
    token = tokens.image.delegation_tokens.by_id[made.token_id]
    assert (token.owner, token.requester, token.renewers) == ("User:ann", "User:ann", ("User:bob",))


def test_without_a_secret_there_are_no_tokens() -> None:
    tokens = Tokens(TokenPolicy())
    disabled = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    assert tokens.create().error_code == disabled
    assert tokens.renew(b"x").error_code == disabled
    assert tokens.expire(b"x").error_code == disabled


@pytest.mark.parametrize(("asked", "lifetime"), [(-1, 1000), (0, 1000), (400, 400), (9999, 1000)])
def test_the_lifetime_that_is_asked_for(asked: int, lifetime: int) -> None:
    made = Tokens().create(max_lifetime_ms=asked)
    assert made.max_timestamp_ms == START_MS + lifetime
    assert made.expiry_timestamp_ms == START_MS + min(300, lifetime)


def test_a_lifetime_to_the_end_of_time() -> None:
    forever = 2**63 - 1
    tokens = Tokens(TokenPolicy("secret", forever, forever))
    made = tokens.create(max_lifetime_ms=forever)
    assert made.max_timestamp_ms == made.expiry_timestamp_ms == forever
    assert tokens.renew(made.hmac, ms=forever).expiry_timestamp_ms == forever


def test_renewing() -> None:
    tokens = Tokens()
    made = tokens.create(renewers=[BOB])
    tokens.sleep(200)
    assert tokens.renew(made.hmac).expiry_timestamp_ms == START_MS + 500
    assert tokens.renew(made.hmac, BOB, 100).expiry_timestamp_ms == START_MS + 300
    assert tokens.renew(made.hmac, ms=9999).expiry_timestamp_ms == START_MS + 500
    assert tokens.renew(made.hmac, EVE).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert tokens.renew(b"other").error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    tokens.sleep(301)
    assert tokens.renew(made.hmac).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED


def test_it_is_not_renewed_beyond_its_maximum() -> None:
    tokens = Tokens()
    made = tokens.create()
    for _ in range(3):
        tokens.sleep(300)
        last = tokens.renew(made.hmac)
    assert last.expiry_timestamp_ms == made.max_timestamp_ms
    tokens.sleep(101)
    assert tokens.renew(made.hmac).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED


def test_expiring() -> None:
    tokens = Tokens()
    made = tokens.create(renewers=[BOB])
    assert tokens.expire(made.hmac, EVE).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert tokens.expire(made.hmac, BOB, 10).expiry_timestamp_ms == START_MS + 10
    tokens.sleep(11)
    assert tokens.expire(made.hmac, ms=10).error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert tokens.expire(made.hmac).expiry_timestamp_ms == START_MS + 11
    assert not tokens.image.delegation_tokens.by_id
    assert tokens.expire(made.hmac).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_a_token_for_another_user() -> None:
    """Who has created it may not renew it, as in Kafka."""
    tokens = Tokens()
    made = tokens.create(EVE, ANN)
    assert (made.principal_name, made.token_requester_principal_name) == ("ann", "eve")
    assert tokens.renew(made.hmac, EVE).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert not tokens.renew(made.hmac, ANN).error_code


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"renewers": [Principal("Group", "g")]}, ErrorCode.INVALID_PRINCIPAL_TYPE),
        ({"owner": Principal("Group", "g")}, ErrorCode.INVALID_PRINCIPAL_TYPE),
        ({"renewers": [Principal("User", "")]}, ErrorCode.INVALID_PRINCIPAL_TYPE),
        ({"renewers": [Principal("User", "x" * 1001)]}, ErrorCode.INVALID_PRINCIPAL_TYPE),
        ({"renewers": [BOB] * (MAX_RENEWERS + 1)}, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_what_is_refused(given: dict[str, Any], error: ErrorCode) -> None:
    tokens = Tokens()
    assert tokens.create(**given).error_code == error
    assert not tokens.image.delegation_tokens.by_id


def test_one_user_does_not_fill_the_cluster_with_tokens() -> None:
    tokens = Tokens()
    for _ in range(MAX_OF_ONE_REQUESTER):
        last = tokens.create()
    assert tokens.create(ANN, BOB).error_code == ErrorCode.POLICY_VIOLATION
    assert not tokens.create(BOB).error_code
    tokens.expire(last.hmac)
    assert not tokens.create().error_code


def test_expired_tokens_are_forgotten() -> None:
    tokens = Tokens()
    cluster = tokens.cluster
    made = [tokens.create(max_lifetime_ms=ms) for ms in (100, 200)]
    tokens.sleep(150)
    cluster.now_ms += 50
    assert (cluster.controller.next_deadline_ms() or 0) <= cluster.now_ms
    cluster.agree(cluster.controller.tick(cluster.now_ms))
    assert tokens.image.delegation_tokens.by_id.keys() == {made[1].token_id}
    assert tokens.renew(made[0].hmac).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    tokens.sleep(100)
    cluster.agree(cluster.controller.tick(cluster.now_ms))
    assert tokens.image.delegation_tokens.by_id, "not before the interval is over"
    cluster.now_ms += 50
    cluster.agree(cluster.controller.tick(cluster.now_ms))
    assert not tokens.image.delegation_tokens.by_id


@given(st.lists(st.tuples(st.sampled_from("crex"), st.integers(0, 4), st.integers(-1, 400))))
def test_another_controller_decides_the_same(steps: list[tuple[str, int, int]]) -> None:
    """What a controller finds tokens by is made again from the image."""
    tokens, hmacs = Tokens(), [b"unknown"]
    for step, which, ms in steps:
        hmac = hmacs[which % len(hmacs)]
        if step == "c":
            hmacs.append(tokens.create(max_lifetime_ms=ms).hmac)
        elif step == "r":
            tokens.renew(hmac, ms=ms)
        elif step == "e":
            tokens.expire(hmac, ms=ms)
        else:
            tokens.sleep(max(ms, 0))
        cluster = tokens.cluster
        other = cluster.new_controller(cluster.agreed)
        for each in hmacs:  # nothing changes: eve may not renew what she finds
            request = RenewDelegationTokenRequest(each)
            mine = cluster.controller.renew_delegation_token(request, EVE)
            assert mine.answer == other.renew_delegation_token(request, EVE).answer
