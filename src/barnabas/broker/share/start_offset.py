"""Where a share group begins to read a partition: `share.auto.offset.reset`."""

import re

from barnabas.broker.replica.partition import Partition
from barnabas.broker.share.share_settings import ShareGroupSettings

_EARLIEST = "earliest"
_BY_DURATION = "by_duration:"
_DURATION = re.compile(
    r"P(?:(?P<days>\d{1,9})D)?(?:T(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?"
    r"(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)


def duration_ms(text: str) -> int | None:
    """The milliseconds of an ISO 8601 duration such as `P1DT2H`; None if it is not one."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groupdict().values()):
        return None
    parts = {name: float(value or 0) for name, value in found.groupdict().items()}
    hours = parts["days"] * 24 + parts["hours"]
    return int(((hours * 60 + parts["minutes"]) * 60 + parts["seconds"]) * 1000)


def find_start_offset(partition: Partition, settings: ShareGroupSettings, time_ms: int) -> int:
    """The first offset for a group that has none yet. Raises `StorageError`."""
    reset = settings.auto_offset_reset
    log = partition.log
    if reset == _EARLIEST:
        return log.log_start_offset
    end = partition.last_stable_offset if settings.is_read_committed else partition.high_watermark
    if reset.startswith(_BY_DURATION):
        found = log.reader.offset_for_timestamp(
            time_ms - (duration_ms(reset.removeprefix(_BY_DURATION)) or 0)
        )
        return end if found is None else min(found.offset, end)
    return end
