"""A replica whose metadata is lost or damaged begins again, as another one, with the other voters.

It has forgotten what it voted for and what it has acknowledged, so it must not vote as who it was.
It gets another directory id first, and then an empty log: from then on it is an observer that
fetches everything, and `membership` exchanges it for the old voter when it has caught up. The logs
of partitions are not concerned: they are as trustworthy as before.

That is safe for the same reason as with a wiped disk: the old replica counts as a voter that is
down. If too many of them are, there is no controller, and no decision is lost that a majority had.
"""

import logging

from barnabas.broker.quorum.storage import MetadataDamaged, QuorumStorage
from barnabas.log import DataDirectory
from barnabas.log.errors import storage_errors
from barnabas.metadata.image import CLUSTER_METADATA
from barnabas.raft import Recovered, VoterSet

logger = logging.getLogger(__name__)

INSTEAD = (
    "restore __cluster_metadata-0 from a copy of the data directory, or salvage the records "
    "(docs/recovery.md)"
)
NO_OTHER_VOTER = f"there is no other voter to fetch it from: {INSTEAD}"


def begin_again(
    data: DataDirectory, storage: QuorumStorage, directory_id: bytes, damage: MetadataDamaged
) -> Recovered:
    """Put the damaged metadata aside, and open an empty log under another id.

    Raises `StorageError`; then the next start does it again.
    """
    with storage_errors(f"can not begin the metadata in {data.path} again"):
        # In this order: nothing that is left of the old log may vote again.
        data.renew_quorum_directory(directory_id)
        storage.abandon()
        kept = data.set_aside(CLUSTER_METADATA, 0)
        recovered = storage.open()
        storage.begin_cluster(VoterSet())
    logger.error(
        "the metadata of this node is damaged: %s. It is kept in %s; this node fetches the "
        "metadata from the other voters, and votes again when it has all of it",
        damage,
        kept,
    )
    return recovered
