"""DescribeUserScramCredentials, version 0: no user has credentials.

Without names it answers with an empty list, with names it says of each that there are none.
"""

from collections import Counter

from barnabas.broker.net.dispatcher import RequestContext
from barnabas.broker.runtime.slices import Slicer, Slices
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


def handle(
    _: object, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> Slices[DescribeUserScramCredentialsResponse]:
    asked = Counter(user.name for user in request.users or ())

    def describe(name: str) -> DescribeUserScramCredentialsResult:
        if asked[name] > 1:
            return DescribeUserScramCredentialsResult(
                name,
                ErrorCode.DUPLICATE_RESOURCE,
                f"Cannot describe SCRAM credentials for the same user twice in a single request: "
                f"{name}",
            )
        return DescribeUserScramCredentialsResult(
            name,
            ErrorCode.RESOURCE_NOT_FOUND,
            f"Attempt to describe a user credential that does not exist: {name}",
        )

    results = yield from Slicer(context.version).each(asked, describe)
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)
