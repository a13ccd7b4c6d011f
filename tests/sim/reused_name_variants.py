"""Rules about topics of the same name broken, one at a time; here every run has such topics."""

from typing import Any
from unittest.mock import patch

from barnabas.broker.replica.directory_owner import claim_directory
from barnabas.log import Disk, read_topic_id, write_topic_id
from barnabas.sim import run
from barnabas.sim.workloads import reused_name
from tests.sim.variant import Variant


def _whose_it_was(
    disk: Disk, data: Any, topic: str, topic_id: bytes, index: int, checkpointed: bytes | None
) -> bool:
    """The directory keeps its records, and gets the id of the new topic."""
    path = data.partition_path(topic, index)
    if topic == reused_name.TOPIC and read_topic_id(disk, path) is not None:
        write_topic_id(disk, path, topic_id)
    return claim_directory(disk, data, topic, topic_id, index, checkpointed)


VARIANTS: dict[str, Variant] = {
    "take over the directory of an earlier topic with the same name": Variant(
        [
            patch("barnabas.broker.replica.replica_opener.claim_directory", _whose_it_was),
            patch.object(run, "_REUSED_NAMES", 1.0),
        ],
        "kills",
    ),
}
