"""What a restore reads is what the backup wrote."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from barnabas.backup.manifest import BackupDamagedError, DataFile
from barnabas.backup.partition_restore import PartitionRestore
from barnabas.backup.restore_plan import Piece, PlannedPartition
from barnabas.backup.store import FolderStore
from barnabas.client.connect.cluster_metadata import TopicPartition

CONTENT = b"some batches"
NAME = "data/0.batches"


async def restore(folder: Path) -> None:
    file = DataFile(NAME, 0, 300, len(CONTENT), 300, 1, hashlib.sha256(CONTENT).hexdigest())
    cluster: Any = None  # nothing is sent
    await PartitionRestore(
        cluster,
        cluster,
        FolderStore(folder),
        cluster,
        TopicPartition("t", 0),
        PlannedPartition([Piece(file, 0)], 0, 300),
        marks=(),
        done=0,
        last=None,
        identity=cluster,
    ).run()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "is missing"),
        (b"", "is damaged"),
        (CONTENT[:-1], "is damaged"),
        (b"same" + CONTENT[4:-1] + b"S", "is damaged"),
    ],
)
def test_damage_is_refused_before_anything_is_sent(
    content: bytes | None, problem: str, tmp_path: Path
) -> None:
    if content is not None:
        FolderStore(tmp_path).write(NAME, content)
    with pytest.raises(BackupDamagedError, match=f"{problem}: t-0 offsets 0 to 299"):
        asyncio.run(restore(tmp_path))
