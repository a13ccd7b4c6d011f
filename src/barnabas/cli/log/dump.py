"""`barnabas log dump`: batches and records of a segment file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CommandError, CommonOptions, command
from barnabas.cli.base.output import print_line, say

if TYPE_CHECKING:
    from barnabas.log.offline.dump import DumpedBatch
    from barnabas.records.record import Record

EPILOG = "Example: barnabas log dump data/orders-0/00000000000000000000.log --records"


@command("as_json")
def dump(
    common: CommonOptions,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Segment file (.log).", show_default=False)
    ],
    records: Annotated[
        bool, typer.Option("--records", help="Show the records of each batch.")
    ] = False,
) -> int:
    """Show the batches of a segment file.

    The exit code is 1 if the file is damaged. With --json, each line is an object: a batch or a
    problem.
    """
    return _dump(file, records=records, as_json=common.as_json)


def _dump(file: Path, *, records: bool, as_json: bool) -> int:
    from barnabas.log.offline.dump import DumpedProblem, dump_segment
    from barnabas.log.storage import OsDisk

    damaged = False
    try:
        for found in dump_segment(OsDisk(), str(file), records=records):
            if isinstance(found, DumpedProblem):
                damaged = True
                _print_problem(found.position, found.reason, as_json=as_json)
            else:
                damaged |= found.problem is not None
                _print_batch(found, as_json=as_json)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    if damaged:
        say(f"error: {file} is damaged")
        return exit_codes.FAILURE
    return exit_codes.OK


def _print_problem(position: int, reason: str, *, as_json: bool) -> None:
    import json

    if as_json:
        print_line(json.dumps({"position": position, "problem": reason}))
    else:
        print_line(f"position {position}: {reason}")


def _print_batch(batch: "DumpedBatch", *, as_json: bool) -> None:
    import json

    from barnabas.cli.base.times import format_time

    header = batch.header
    if as_json:
        shown = {
            "position": batch.position,
            "size": header.size,
            "problem": batch.problem,
            **header._asdict(),
            "last_offset": header.last_offset,
            "records": [_record_json(record) for record in batch.records],
        }
        print_line(json.dumps(shown, ensure_ascii=False))
        return
    kinds = [
        name
        for name, is_so in (
            ("transactional", header.is_transactional),
            ("control", header.is_control),
        )
        if is_so
    ]
    producer = (
        f" producer {header.producer_id}/{header.producer_epoch} sequence {header.base_sequence}"
        if header.has_producer
        else ""
    )
    print_line(
        f"position {batch.position} offsets {header.base_offset}-{header.last_offset} "
        f"records {header.record_count} bytes {header.size} "
        f"compression {_compression_name(header.compression)} "
        f"epoch {header.partition_leader_epoch} "
        f"{'append' if header.is_log_append_time else 'create'} time "
        f"{format_time(header.max_timestamp)}{producer}"
        + "".join(f" {kind}" for kind in kinds)
        + (f" DAMAGED: {batch.problem}" if batch.problem else "")
    )
    for record in batch.records:
        shown_record = _record_json(record)
        print_line(
            f"  {record.offset} {format_time(record.timestamp)} "
            f"key {shown_record['key']!r} value {shown_record['value']!r}"
            + (f" headers {shown_record['headers']!r}" if record.headers else "")
        )


def _compression_name(compression: int) -> str:
    from barnabas.records.compression import Compression

    try:
        return str(Compression(compression))
    except ValueError:
        return f"unknown ({compression})"


def _record_json(record: "Record") -> dict[str, object]:
    def shown(data: bytes | None) -> str | None:
        return None if data is None else data.decode(errors="backslashreplace")

    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": shown(record.key),
        "value": shown(record.value),
        "headers": [[name, shown(data)] for name, data in record.headers],
    }
