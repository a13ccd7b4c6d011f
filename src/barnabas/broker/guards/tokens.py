"""The guard of tokens for other users: CREATE_TOKENS on the user."""

from barnabas.broker.access.request_access import RequestAccess
from barnabas.broker.control.controller_apis import CONTROLLER_APIS
from barnabas.broker.guards.guard import Needs, Verdict
from barnabas.broker.net.dispatcher import RequestContext
from barnabas.controller.delegation_tokens import owner_of
from barnabas.wire.acl_codes import AclOperation, ResourceType
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest


def create_delegation_token(
    _: Needs, request: CreateDelegationTokenRequest, access: RequestAccess, context: RequestContext
) -> Verdict:
    """Nothing for a token of one's own."""
    owner = owner_of(request, context.principal)
    if owner == context.principal:
        return None
    if access.allows(AclOperation.CREATE_TOKENS, ResourceType.USER, str(owner)):
        return None
    api = CONTROLLER_APIS[CreateDelegationTokenRequest]
    return api.refuse(request, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED, "")
