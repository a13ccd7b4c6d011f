"""DescribeDelegationToken, versions 1-3: the delegation tokens that concern a client.

These are the tokens of which it is the owner, the requester or a renewer, and those that it may
DESCRIBE, or whose owner's tokens it may DESCRIBE_TOKENS. Who asks for owners gets the tokens that
concern one of them.

Only those who may use a token, its owner and its renewers, get its HMAC, by which they renew it and
sign in; for others it is empty. (Kafka shows it to everybody who may describe the token, who
can then sign in as its owner.)
"""

from typing import Protocol

from barnabas.broker.access.authorization import Authorization
from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.handlers.delegation_tokens import may_ask_for_tokens
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.broker.settings.config import BrokerConfig
from barnabas.metadata.delegation_tokens_image import DelegationToken
from barnabas.metadata.image import MetadataImage
from barnabas.security.delegation_tokens import token_hmac
from barnabas.security.principal import Principal
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

_API = "DescribeDelegationToken"
_WEIGHT = 10


class Needs(Protocol):
    """What this handler asks of the node."""

    authorization: Authorization
    config: BrokerConfig
    image: MetadataImage


def handle(
    node: Needs, request: DescribeDelegationTokenRequest, context: RequestContext
) -> DescribeDelegationTokenResponse | Slices[DescribeDelegationTokenResponse]:
    if not may_ask_for_tokens(context.connection):
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    secret = node.config.tokens.secret_key
    if not secret:
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    access = node.authorization.of(context.connection, _API)
    return _described(node, request, access, context, secret)


def _described(
    node: Needs,
    request: DescribeDelegationTokenRequest,
    access: RequestAccess,
    context: RequestContext,
    secret: str,
) -> Slices[DescribeDelegationTokenResponse]:
    requester = str(context.principal)
    owners = None
    if request.owners is not None:
        owners = {
            str(Principal(each.principal_type, each.principal_name)) for each in request.owners
        }

    slicer = Slicer(context.version)
    found = []
    for token in list(node.image.delegation_tokens.by_id.values()):
        is_wanted = owners is None or not owners.isdisjoint(token.principals)
        if is_wanted and (token.concerns(requester) or _may_see(access, token)):
            known_secret = secret if token.may_renew(requester) else None
            found.append(slicer.part(_description(token, known_secret)))
        if slicer.is_due(_WEIGHT):
            yield
    return DescribeDelegationTokenResponse(0, found)


def _may_see(access: RequestAccess, token: DelegationToken) -> bool:
    return access.allows(
        AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id, log=False
    ) or access.allows(AclOperation.DESCRIBE_TOKENS, ResourceType.USER, token.owner, log=False)


def _description(token: DelegationToken, secret: str | None) -> DescribedDelegationToken:
    owner, requester = Principal.parse(token.owner), Principal.parse(token.requester)
    renewers = map(Principal.parse, token.renewers)
    return DescribedDelegationToken(
        owner.kind,
        owner.name,
        requester.kind,
        requester.name,
        token.issue_timestamp_ms,
        token.expiry_timestamp_ms,
        token.max_timestamp_ms,
        token.token_id,
        b"" if secret is None else token_hmac(secret, token.token_id),
        [DescribedDelegationTokenRenewer(each.kind, each.name) for each in renewers],
    )
