"""Which segments are too many or too old. Whether anyone has read them plays no part."""

from collections.abc import Sequence

from barnabas.log.config import LogConfig
from barnabas.log.segment.segment import Segment
from barnabas.log.storage import Disk


def expired_segments(
    segments: Sequence[Segment], config: LogConfig, now_ms: int, upto_offset: int, disk: Disk
) -> Sequence[Segment]:
    """The oldest segments that retention gives up, none that reaches behind `upto_offset`.

    By age a segment goes when its newest record is older than `retention_ms`, the active segment
    included; if none has a timestamp, the file's own age counts. By size the oldest go as long as
    what remains is still `retention_bytes` or more.
    """
    count = 0
    surplus = sum(segment.size for segment in segments) - config.retention_bytes
    for segment in segments:
        if segment.next_offset > upto_offset or segment.size == 0:
            break
        is_active = segment is segments[-1]
        too_many = config.retention_bytes >= 0 and surplus >= segment.size and not is_active
        if not too_many and not _is_too_old(segment, config.retention_ms, now_ms, disk):
            break
        surplus -= segment.size
        count += 1
    return segments[:count]


def _is_too_old(segment: Segment, retention_ms: int, now_ms: int, disk: Disk) -> bool:
    if retention_ms < 0:
        return False
    newest_ms = segment.max_timestamp
    if newest_ms <= 0:  # no timestamp, or one that older versions took for it
        newest_ms = disk.modified_ms(segment.log.path)
    return now_ms - newest_ms > retention_ms
