"""Lines of log files that grow and are rotated, as a stream of rows."""

from collections.abc import Sequence
from typing import Literal, get_args

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.expectations.expectation import Expectation, checked_rules
from barnabas.spark.pipelines.sources.connector import ConnectorSource
from barnabas.spark.pipelines.sources.log_lines import LogLines

Starting = Literal["beginning", "end"]


def from_log_files(
    pattern: str,
    *,
    starting: Starting = "beginning",
    max_bytes_per_batch: int = 64 << 20,
    skip_missing: bool = False,
    watermark: str | None = None,
    expect: Sequence[Expectation] = (),
) -> ConnectorSource:
    """The lines of files on this machine, as they are appended: columns `value`, `file`, `offset`.

    - `pattern`: such as `/var/log/app/*.log`; `**` matches folders at any depth. Files may be
      rotated, by renaming or by truncation.
    - `starting`: at the `beginning` or the `end` of files that exist at the first start.
    - `max_bytes_per_batch`: maximum number of bytes that a micro-batch reads.
    - `skip_missing`: continue if lines that a repeated batch has to read again are gone; by default
      that is an error.
    - `watermark`, `expect`: as with other sources.
    """
    if not pattern.strip():
        raise InvalidArgument("pattern has to name files, as /var/log/app/*.log")
    if starting not in get_args(Starting):
        raise InvalidArgument(f"starting is beginning or end, not {starting!r}")
    if max_bytes_per_batch < 1:
        raise InvalidArgument(f"max_bytes_per_batch is 1 or more, not {max_bytes_per_batch}")
    lines = LogLines(pattern, starting == "end", max_bytes_per_batch, skip_missing)
    return ConnectorSource(lines, watermark, checked_rules(expect))
