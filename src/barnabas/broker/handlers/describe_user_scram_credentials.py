"""DescribeUserScramCredentials, version 0: which users there are, and by which SCRAM mechanisms
they sign in.

It shows mechanisms and iterations, and neither salts nor keys. Without names it describes all
users.
"""

from collections import Counter
from typing import Protocol

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


class Needs(Protocol):
    """What this handler asks of the node."""

    image: MetadataImage


def handle(
    node: Needs, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> Slices[DescribeUserScramCredentialsResponse]:
    scram = node.image.scram
    if request.users:
        asked = Counter(user.name for user in request.users)
    else:
        asked = Counter(sorted(scram.users()))

    def describe(name: str) -> DescribeUserScramCredentialsResult:
        if asked[name] > 1:
            return DescribeUserScramCredentialsResult(
                name,
                ErrorCode.DUPLICATE_RESOURCE,
                f"Cannot describe SCRAM credentials for the same user twice in a single request: "
                f"{name}",
            )
        credentials = scram.of_user(name)
        if not credentials:
            return DescribeUserScramCredentialsResult(
                name,
                ErrorCode.RESOURCE_NOT_FOUND,
                f"Attempt to describe a user credential that does not exist: {name}",
            )
        infos = [
            CredentialInfo(mechanism, credentials[mechanism].iterations)
            for mechanism in sorted(credentials)
        ]
        return DescribeUserScramCredentialsResult(name, error_message=None, credential_infos=infos)

    results = yield from Slicer(context.version).each(asked, describe)
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)
