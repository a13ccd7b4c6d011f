"""What a user may not see of a cluster: left out of the rest, and named with the right it needs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.rights.probe import missing_rights
from barnabas.client.rights.right import ANY, topic
from barnabas.errors import BarnabasError, NotAuthorized
from barnabas.quantities import counted
from barnabas.wire.acl_codes import AclOperation


@contextmanager
def unless_denied(what: str, unknown: dict[str, str]) -> Iterator[None]:
    """What this user may not do ends the block, and is added to `unknown` with the reason."""
    try:
        yield
    except NotAuthorized as error:
        unknown[what] = str(error)


def denied_topics(what: str, refused: Mapping[str, NotAuthorized]) -> dict[str, str]:
    """One entry for all topics that were refused."""
    if not refused:
        return {}
    first = min(refused)
    more = f" (and of {counted(len(refused) - 1, 'other topic')})" * (len(refused) > 1)
    return {what: f"{refused[first]}{more}"}


async def hidden_topics(cluster: ClusterClient) -> dict[str, str]:
    """An entry if there may be topics that this user sees nothing of: brokers don't name them."""
    try:
        hidden = await missing_rights(cluster, [topic(AclOperation.DESCRIBE, ANY, "topics")])
    except BarnabasError:  # nobody knows at the moment
        return {}
    return {"topics": left_out("--topic '*'")} if hidden else {}


def left_out(option: str) -> str:
    """Brokers leave out, without a word, what a user may not describe."""
    return (
        "those that this user may not describe are left out; an administrator allows all with: "
        f"barnabas acls add USER describe {option}"
    )
