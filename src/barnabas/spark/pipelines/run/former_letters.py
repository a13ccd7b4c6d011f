"""Queries that wrote dead letters in earlier versions, next to the query of the pipeline.

They were called `NAME.dead-letters`, read everything again, and had separate checkpoints. Now the
tasks of the pipeline write dead letters, from its current offsets. That is correct only if both
queries were at the same offsets: otherwise dead letters would be missing, or written twice.
"""

import json
from pathlib import Path
from typing import Any

from barnabas.spark.pipelines.definition.pipeline import DEAD_LETTERS, Pipeline, PipelineError
from barnabas.spark.pipelines.run.run_folder import RunFolder

_Positions = dict[tuple[str, str], int]


def former_names(defined: Pipeline) -> list[str]:
    """The names of these queries of a pipeline."""
    several = len(defined.sources) > 1
    return [
        f"{defined.name}.{name}.{DEAD_LETTERS}" if several else f"{defined.name}.{DEAD_LETTERS}"
        for name, source in defined.sources.items()
        if source.dead_letter_topic is not None
    ]


def replace_former_letters(defined: Pipeline, folder: RunFolder) -> None:
    """Take over from them, and delete their folders; raises `PipelineError` if that is not safe.

    Only checkpoints on this machine are checked.
    """
    for name in former_names(defined):
        if not folder.has_checkpoint(name):
            continue
        former, is_done = _position(Path(folder.checkpoint_of(name)))
        mine, _ = _position(Path(folder.checkpoint_of(defined.name)))
        if not is_done or any(mine.get(each, 0) != offset for each, offset in former.items()):
            raise PipelineError(
                f"pipeline {defined.name}: an earlier version wrote dead letters with a separate "
                f"query, {name}, which is at other offsets than the pipeline. Run that version "
                "with --once until both are done; or reset the pipeline (barnabas pipeline reset)"
            )
        folder.reset(name)


def _position(checkpoint: Path) -> tuple[_Positions, bool]:
    """Where the last finished batch of a query ended, and whether none was begun after it."""
    begun = _numbers(checkpoint / "offsets")
    done = _numbers(checkpoint / "commits")
    if not done:
        return {}, not begun
    lines = (checkpoint / "offsets" / str(max(done))).read_text("utf-8").splitlines()
    found: _Positions = {}
    for line in lines[2:]:
        found |= _offsets(json.loads(line) if line.startswith("{") else None)
    return found, max(begun) == max(done)


def _numbers(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    return [int(each.name) for each in folder.iterdir() if each.name.isdecimal()]


def _offsets(of_source: Any) -> _Positions:
    """What a source of topics has written: {topic: {partition: offset}}."""
    if not isinstance(of_source, dict):
        return {}
    return {
        (topic, partition): offset
        for topic, partitions in of_source.items()
        if "@" not in topic and isinstance(partitions, dict)
        for partition, offset in partitions.items()
    }
