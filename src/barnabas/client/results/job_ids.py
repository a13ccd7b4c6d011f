"""The id of a job whose result is asked for: 12 hexadecimal digits of the time, 20 random ones.

    019a9c1fd2b47f3c9a1e5b2d4c68e0f1

It is the key of the result. So any producer in any language puts the result into the same
partition, and whoever has the id knows which one, and since when to look. A client asks for ids of
one partition, so it has one partition to read.
"""

import re
from secrets import token_hex

from barnabas.records.murmur2 import partition_for_key
from barnabas.records.record import Header

JOB_ID_HEADER = "job.id"

_ID = re.compile(rb"[0-9a-f]{32}\Z")


def new_job_id(now_ms: int, partition: int, partition_count: int) -> str:
    """An id whose result goes to this partition."""
    while True:
        found = f"{now_ms:012x}{token_hex(10)}"
        if partition_for_key(found.encode(), partition_count) == partition:
            return found


def is_job_id(text: bytes) -> bool:
    """Whether it can be one."""
    return _ID.match(text) is not None


def submitted_ms_of(job_id: str) -> int:
    """When the job was submitted, by the clock of who did."""
    return int(job_id[:12], 16)


def job_id_of(headers: "tuple[Header, ...] | list[Header]") -> bytes | None:
    """The id of a job that somebody may wait for."""
    for name, value in headers:
        if name == JOB_ID_HEADER:
            return value if value is not None and is_job_id(value) else None
    return None
