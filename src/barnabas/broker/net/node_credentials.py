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
from barnabas.broker.net.peer_proof import (
    Credentials,
    PeerIdentity,
    credentials_of,
    secrets_of,
    stretch,
)
from barnabas.broker.settings.config import ConfigError
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
        load: Callable[[], bytes | None] | None = None,
    ) -> None:
        """`load` reads the secret again, if it comes from a file; it raises `ConfigError`."""
        self._data = data
        self._disk = disk
        self._loop = loop
        self._executor = executor
        self._random = random
        self._cluster_id = cluster_id
        self._secret = secret
        self._load = load
        _stretch_now(secret)
        self._refused = ""
        """Why the file can't be used, as the log has it already."""

    def current(self) -> Credentials | None:
        """None until the node is in a cluster."""
        cluster_id = self._cluster_id()
        if not cluster_id:
            return None
        me = PeerIdentity(self._data.node_id, self._data.directory_id)
        return credentials_of(me, cluster_id, self._secret)

    def refresh(self) -> None:
        """Take over a secret that was changed in its file. Connections that are open stay open."""
        if self._load is None or self._secret is None:
            return
        try:
            secret = self._load()
        except ConfigError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                logger.error("the former cluster secret is used: %s", error)
            return
        self._refused = ""
        if secret is not None and secret != self._secret:
            _stretch_now(secret)
            used, _, other = secret.partition(b"\n")
            is_same = used == self._secret.partition(b"\n")[0]
            self._secret = secret
            logger.info(
                "read the changed cluster secret file: this node %s, and %s",
                "uses the same secret as before" if is_same else "uses another secret now",
                "accepts a second one" if other else "accepts no other",
            )

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
        path = secret_path(self._data.path)
        secret = new_secret(self._random.randbytes(NEW_BYTES))
        try:
            await self._loop.run_in_executor(self._executor, write_secret, self._disk, path, secret)
        except OSError as error:
            logger.warning("no cluster secret: can't write %s: %s", path, error)
        else:
            self._secret = secret


def _stretch_now(secret: bytes | None) -> None:
    """Take the time for it before the first connection needs it: its result is kept."""
    for each in [] if secret is None else secrets_of(secret):
        stretch(each)
