"""What authenticates this node to the other nodes of its cluster."""

import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable
from concurrent.futures import Executor
from random import Random

from barnabas.broker.net.cluster_secret import (
    NEW_BYTES,
    SETTING,
    new_secret,
    secret_path,
    write_secret,
)
from barnabas.broker.net.peer_proof import Credentials, PeerIdentity, key_of
from barnabas.log import DataDirectory, Disk

logger = logging.getLogger(__name__)


class NodeCredentials:
    """The identity of a node and the secret of its cluster, if it has one."""

    def __init__(
        self,
        data: DataDirectory,
        disk: Disk,
        loop: AbstractEventLoop,
        executor: Executor,
        random: Random,
        cluster_id: Callable[[], str],
        secret: bytes | None,
    ) -> None:
        self._data = data
        self._disk = disk
        self._loop = loop
        self._executor = executor
        self._random = random
        self._cluster_id = cluster_id
        self._secret = secret

    def current(self) -> Credentials | None:
        """None until the node is in a cluster."""
        cluster_id = self._cluster_id()
        if not cluster_id:
            return None
        me = PeerIdentity(self._data.node_id, self._data.directory_id)
        return Credentials(me, cluster_id, key_of(self._secret, cluster_id))

    async def ensure_secret(self, *, is_alone: bool) -> None:
        """Create the secret on a node that is a cluster by itself; nodes that join later need
        it."""
        if self._secret is not None:
            return
        if not is_alone:
            logger.warning(
                "this cluster has no secret: a client that knows the protocol can "
                "pass for a node. Give every node the same %s, see docs/cluster.md",
                SETTING,
            )
            return
        path = secret_path(self._data)
        secret = new_secret(self._random.randbytes(NEW_BYTES))
        try:
            await self._loop.run_in_executor(self._executor, write_secret, self._disk, path, secret)
        except OSError as error:
            logger.warning("no cluster secret: can't write %s: %s", path, error)
        else:
            self._secret = secret
