"""The topic by which users ask running pipelines to stop or to restart.

It is not the topic of reports: a user that may report may not stop the pipelines of others. A
pipeline reads it from where it ends when its process starts: old requests concern no new process.
"""

import json
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

TOPIC = "__barnabas_pipeline_requests"
PARTITIONS = 1
PARTITION = 0
"""The one that is written and read, also where the topic was made with more."""
CONFIGS = {
    "cleanup.policy": "delete",
    "retention.ms": str(24 * 3600 * 1000),
    "segment.ms": str(24 * 3600 * 1000),
    "segment.bytes": str(2 * 1024 * 1024),
    "message.timestamp.type": "LogAppendTime",
}
CONTROLLED = "on"
"""What reports say of pipelines that take requests."""

Action: TypeAlias = Literal["stop", "restart"]
ACTIONS: tuple[str, ...] = get_args(Action)
_LONG = 4_000


class PipelineRequest(NamedTuple):
    """`pipeline` is its key in the topic of reports, `pid` the process that was seen there."""

    id: str
    pipeline: str
    pid: int
    action: Action


def encode(request: PipelineRequest) -> bytes:
    return json.dumps(request._asdict(), separators=(",", ":")).encode()


def decode(value: bytes | None) -> PipelineRequest | None:
    """None for anything else: any client that may write to the topic may write anything."""
    try:
        found: Any = json.loads(value or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    texts = [found.get(name) for name in ("id", "pipeline", "action")]
    if not all(isinstance(each, str) and 0 < len(each) < _LONG for each in texts):
        return None
    pid, action = found.get("pid"), found["action"]
    if not isinstance(pid, int) or action not in ACTIONS:
        return None
    return PipelineRequest(found["id"], found["pipeline"], pid, cast("Action", action))
