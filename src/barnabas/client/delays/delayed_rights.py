"""The rights that delayed records need on a secured cluster, and what is said without them."""

import logging
from collections.abc import Iterator
from contextlib import suppress

from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.delays.delayed_topic import delayed_topic
from barnabas.client.rights.check import denial_of
from barnabas.client.rights.right import Right, created_topic, group, topic, transactional_id
from barnabas.errors import BarnabasError, NotAuthorized
from barnabas.wire.acl_codes import AclOperation

_log = logging.getLogger("barnabas.delays")


def mover_rights(name: str) -> Iterator[Right]:
    """To move delayed records of a topic."""
    delayed, what = delayed_topic(name), f"moving jobs of {name} when they are due"
    yield topic(AclOperation.READ, delayed, what)
    yield topic(AclOperation.WRITE, delayed, what)
    yield topic(AclOperation.WRITE, name, what)
    yield group(delayed, what)
    yield transactional_id(delayed, what, prefixed=True)
    free = topic(AclOperation.DELETE, delayed, f"freeing the disk after {what}")
    yield free._replace(is_optional=True)


def sender_rights(name: str) -> Iterator[Right]:
    """To put delayed records of a topic."""
    delayed, what = delayed_topic(name), f"jobs for later of {name}"
    yield topic(AclOperation.WRITE, delayed, what)
    yield created_topic(delayed, what)
    yield topic(AclOperation.DESCRIBE_CONFIGS, name, f"settings of {delayed}")


async def sender_denial(cluster: ClusterClient, name: str, error: NotAuthorized) -> NotAuthorized:
    """What a sender that was denied something lacks in all."""
    with suppress(BarnabasError):
        rights = list(sender_rights(name))
        found = await denial_of(cluster, rights, f"a sender of delayed records to {name}")
        return found or error
    return error


class MoverDenials:
    """Says once what a mover lacks, however often it tries."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._reported: set[str] = set()

    async def report(self, cluster: ClusterClient, error: NotAuthorized | None = None) -> None:
        """Log the commands that grant what is missing, unless that was done for this error.

        Without an error, the topic of the delayed records is hidden, and may not even exist.
        """
        if str(error) in self._reported:
            return
        self._reported.add(str(error))
        rights = list(mover_rights(self._name))
        try:
            found = await denial_of(cluster, rights, f"a mover of delayed records to {self._name}")
        except BarnabasError:
            found = None
        found = found or error
        if found is not None:
            what = "records that are sent to %s with a delay, if any, are not moved here: %s"
            _log.warning(what, self._name, found)
