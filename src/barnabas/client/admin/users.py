"""Users that sign in by SCRAM: listed, added, given another password, removed.

The password itself is not sent: a broker gets it salted, and keeps keys that are derived from that.
"""

import secrets
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.admin.doubt import Doubt
from barnabas.client.connect.broker_errors import check
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.errors import InvalidArgument
from barnabas.security.sasl.scram_credential import (
    DEFAULT_ITERATIONS,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    SALT_BYTES,
    ScramMechanism,
    salted_password,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

SCRAM_MECHANISMS = tuple(each.label for each in ScramMechanism)


class UserDescription(NamedTuple):
    """A user, and by which mechanisms it signs in."""

    name: str
    mechanisms: Mapping[str, int]
    """The iterations by the name of the mechanism, such as SCRAM-SHA-256."""


async def describe_users(
    cluster: ClusterClient, names: Iterable[str] | None = None
) -> dict[str, UserDescription]:
    """All users, or those of these names that there are."""
    asked = None if names is None else [UserName(name) for name in names]
    request = DescribeUserScramCredentialsRequest(asked)

    async def attempt() -> dict[str, UserDescription]:
        response = await (await cluster.any_connection()).send(request)
        check(response.error_code, "users", response.error_message, needs="describe")
        found = {}
        for result in response.results:
            if result.error_code != ErrorCode.RESOURCE_NOT_FOUND:
                check(result.error_code, f"user {result.user}", result.error_message)
                mechanisms = {
                    ScramMechanism(each.mechanism).label: each.iterations
                    for each in result.credential_infos
                    if each.mechanism in tuple(ScramMechanism)
                }
                found[result.user] = UserDescription(result.user, mechanisms)
        return found

    return await cluster.retrying(attempt)


async def set_password(
    cluster: ClusterClient,
    name: str,
    password: str,
    *,
    mechanisms: Iterable[str] = SCRAM_MECHANISMS,
    iterations: int = DEFAULT_ITERATIONS,
) -> None:
    """Add a user, or give it another password for these mechanisms."""
    if not name or not password:
        raise InvalidArgument("a user needs a name and a password")
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise InvalidArgument(
            f"iterations={iterations}: choose {MIN_ITERATIONS} to {MAX_ITERATIONS}"
        )
    for mechanism in [_mechanism(each) for each in mechanisms]:
        salt = secrets.token_bytes(SALT_BYTES)
        salted = salted_password(mechanism, password, salt, iterations)
        upsertion = ScramCredentialUpsertion(name, mechanism, iterations, salt, salted)
        await _alter(cluster, AlterUserScramCredentialsRequest(upsertions=[upsertion]))


async def remove_credentials(cluster: ClusterClient, name: str, mechanisms: Iterable[str]) -> None:
    """Remove a user, as far as these mechanisms are concerned."""
    for mechanism in [_mechanism(each) for each in mechanisms]:
        deletion = ScramCredentialDeletion(name, mechanism)
        await _alter(cluster, AlterUserScramCredentialsRequest([deletion]))


async def _alter(cluster: ClusterClient, request: AlterUserScramCredentialsRequest) -> None:
    """Kafka refuses a request that names a user twice, even for two mechanisms."""

    doubt = Doubt()

    async def attempt() -> None:
        with doubt.unless_done(ErrorCode.RESOURCE_NOT_FOUND):  # what was to be removed
            response = await (await cluster.controller()).send(request)
            for result in response.results:
                check(result.error_code, f"user {result.user}", result.error_message, needs="alter")

    await cluster.retrying(attempt)


def _mechanism(label: str) -> ScramMechanism:
    found = ScramMechanism.named(label.upper())
    if found is None:
        known = " or ".join(SCRAM_MECHANISMS)
        raise InvalidArgument(f"users have no password for mechanism {label!r}; use {known}")
    return found
