"""How far a connector has read: what Spark keeps in its checkpoint, in Kafka Connect's shape.

A checkpoint has a file for each batch in `offsets/`, with a line for each source, and one in
`commits/` when the batch is finished.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.errors import BarnabasError
from barnabas.spark.pipelines.run.run_folder import RunFolder

_BEFORE_SOURCES = 2  # lines: the version, and metadata of the batch
_TOPIC_ID = "@id"


def folder_of(checkpoints: str, logs: Path) -> RunFolder:
    """The folder of all connectors."""
    return RunFolder(logs.resolve(), checkpoints if "://" in checkpoints else None)


def offsets_of(folder: RunFolder, name: str, *, several: bool) -> list[dict[str, Any]]:
    """The positions of a connector behind its last finished batch; empty before the first.

    `several` says that it may be several pipelines, as those of a file are.
    """
    if folder.checkpoints is not None:
        raise BarnabasError(
            f"the positions of {name} are in {folder.checkpoint_of(name)}, which only Spark can "
            "read"
        )
    found: list[dict[str, Any]] = []
    for pipeline in _pipelines(folder, name, several=several):
        for at, position in enumerate(_positions(Path(folder.checkpoint_of(pipeline)))):
            found += _shown(pipeline, at, position)
    return found


def _pipelines(folder: RunFolder, name: str, *, several: bool) -> list[str]:
    """A connector has its own name, or names that begin with it if it is several pipelines."""
    known = folder.names()
    return [each for each in known if each == name or (several and each.startswith(f"{name}."))]


def _positions(checkpoint: Path) -> list[Any]:
    done = [int(each.name) for each in (checkpoint / "commits").glob("*") if each.name.isdecimal()]
    if not done:
        return []
    lines = (checkpoint / "offsets" / str(max(done))).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines[_BEFORE_SOURCES:] if line != "-"]


def _shown(pipeline: str, at: int, position: Any) -> Iterator[dict[str, Any]]:
    if not _is_of_topics(position):
        yield {"partition": {"pipeline": pipeline, "source": at}, "offset": position}
        return
    for topic, partitions in position.items():
        if topic.endswith(_TOPIC_ID):
            continue
        for partition, offset in partitions.items():
            yield {
                "partition": {"kafka_topic": topic, "kafka_partition": int(partition)},
                "offset": {"kafka_offset": offset},
            }


def _is_of_topics(position: Any) -> bool:
    """Whether it has offsets by topic and partition."""
    return isinstance(position, dict) and all(
        isinstance(each, dict) and all(key.isdecimal() for key in each)
        for each in position.values()
    )
