"""`barnabas transactions`: show transactions and producers, abort hanging ones."""

from time import time
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.cli.base.times import format_time, parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.client.admin.active_producers import ActiveProducer
    from barnabas.client.admin.transactions import TransactionDescription
    from barnabas.client.connect.cluster_client import ClusterClient
    from barnabas.client.connect.cluster_metadata import TopicPartition

app = typer.Typer(
    no_args_is_help=True,
    help="Show transactions and producers, abort hanging ones.",
)

Ids = Annotated[
    list[str], typer.Argument(metavar="ID", help="Transactional ids.", show_default=False)
]
Partitions = Annotated[
    list[str],
    typer.Argument(metavar="TOPIC[:N,...]", help="Topics, or some of their partitions."),
]
_LONGEST_BY_DEFAULT = "15m"  # what transaction.max.timeout.ms is, unless it was changed


@app.command("list", epilog="Example: barnabas transactions list --state Ongoing --older-than 1m")
@cluster_command
async def list_(
    session: Session,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE", help="Show only this state, such as Ongoing; may be repeated."
        ),
    ] = None,
    producer_id: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Show only this producer id; may be repeated."),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Show only those open for longer, such as '1h 30m'."),
    ] = None,
) -> None:
    """List transactional ids and their states."""
    from barnabas.client.admin.transactions import ANY_DURATION, list_transactions

    longer_than_ms = ANY_DURATION if older_than is None else parse_duration(older_than)
    async with session.connect() as cluster:
        listed = await list_transactions(
            cluster,
            states=state or (),
            producer_ids=producer_id or (),
            longer_than_ms=longer_than_ms,
        )
    if session.as_json:
        print_json([each._asdict() for each in listed])
    else:
        rows = [
            (each.transactional_id, each.state, each.producer_id, each.coordinator)
            for each in listed
        ]
        print_table(("transactional id", "state", "producer id", "coordinator"), rows)


@app.command("describe", epilog="Example: barnabas transactions describe billing-1")
@cluster_command
async def describe(session: Session, ids: Ids) -> None:
    """Show transactions and their partitions."""
    from barnabas.client.admin.transactions import describe_transaction

    async with session.connect() as cluster:
        described = [await describe_transaction(cluster, each) for each in ids]
    if session.as_json:
        print_json([{**each._asdict(), "partitions": _json(each.partitions)} for each in described])
        return
    for number, each in enumerate(described):
        if number:
            print_line()
        _print_transaction(each, int(time() * 1000))


def _json(partitions: "Sequence[TopicPartition]") -> list[list[object]]:
    return [[each.topic, each.partition] for each in partitions]


def _print_transaction(transaction: "TransactionDescription", now_ms: int) -> None:
    since = ""
    if transaction.is_open and transaction.start_time_ms is not None:
        since = f" for {max(0, now_ms - transaction.start_time_ms) / 1000:.1f} s"
    timeout = "no timeout"
    if transaction.has_timeout:
        timeout = f"timeout {transaction.timeout_ms / 1000:g} s"
    print_line(
        f"transactional id {transaction.transactional_id}: {transaction.state}{since}, {timeout}, "
        f"producer {transaction.producer_id} epoch {transaction.producer_epoch}"
    )
    if transaction.partitions:
        print_table(("topic", "partition"), transaction.partitions)


@app.command("producers", epilog="Example: barnabas transactions producers orders:0")
@cluster_command
async def producers(session: Session, partitions: Partitions) -> None:
    """Show the active producers of partitions.

    BEGUN_AT is the first offset of the open transaction.
    """
    from barnabas.cli.base.partition_names import named_partitions
    from barnabas.client.admin.active_producers import describe_producers

    async with session.connect() as cluster:
        named = await named_partitions(cluster, partitions)
        _print_producers(session, await describe_producers(cluster, named))


def _print_producers(session: Session, found: "Sequence[ActiveProducer]") -> None:
    if session.as_json:
        print_json(
            [
                {
                    "topic": each.partition.topic,
                    "partition": each.partition.partition,
                    **{name: v for name, v in each._asdict().items() if name != "partition"},
                }
                for each in found
            ]
        )
        return
    print_table(
        ("topic", "partition", "producer id", "epoch", "sequence", "last write", "begun at"),
        [
            (
                *each.partition,
                each.producer_id,
                each.producer_epoch,
                each.last_sequence if each.last_sequence >= 0 else None,
                format_time(each.last_timestamp_ms),
                each.transaction_start_offset,
            )
            for each in found
        ],
    )


@app.command("find-hanging", epilog="Example: barnabas transactions find-hanging orders")
@cluster_command
async def find_hanging(
    session: Session,
    partitions: Annotated[
        list[str] | None,
        typer.Argument(metavar="TOPIC[:N,...]", help="Partitions to search. Default: all."),
    ] = None,
    older_than: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Minimum idle time; at least transaction.max.timeout.ms.",
        ),
    ] = _LONGEST_BY_DEFAULT,
) -> None:
    """Find hanging transactions.

    They are open in a partition, but their coordinator has no record of them, so it will never end
    them. Consumers with read_committed wait for them forever.
    """
    from barnabas.cli.base.partition_names import named_partitions
    from barnabas.client.admin.active_producers import find_hanging, led_partitions

    idle_since_ms = int(time() * 1000) - parse_duration(older_than)
    async with session.connect() as cluster:
        if partitions:
            named = await named_partitions(cluster, partitions)
        else:
            named = await led_partitions(cluster)
        hanging = await find_hanging(cluster, named, idle_since_ms=idle_since_ms)
    _print_producers(session, hanging)
    if hanging and not session.as_json:
        each = hanging[0]
        say(
            f"abort one with `barnabas transactions abort {each.partition.topic}:"
            f"{each.partition.partition} --start-offset {each.transaction_start_offset}`"
        )


@app.command("abort", epilog="Example: barnabas transactions abort orders:0 --start-offset 1742")
@cluster_command
async def abort(
    session: Session,
    partition: Annotated[
        str, typer.Argument(metavar="TOPIC:N", help="Partition.", show_default=False)
    ],
    start_offset: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="First offset of the transaction, as find-hanging prints it."
        ),
    ],
    force: Annotated[
        bool,
        typer.Option("--force", help="Leave the check that it hangs to the broker."),
    ] = False,
) -> None:
    """Abort a hanging transaction in one partition.

    Consumers with read_committed can then continue there.
    """
    from barnabas.cli.base.partition_names import named_partitions
    from barnabas.client.admin.active_producers import abort_transaction

    async with session.connect() as cluster:
        named = await named_partitions(cluster, [partition])
        if len(named) != 1:
            raise UsageError(f"{partition}: give one partition, such as {named[0].topic}:0")
        producer = await _open_at(cluster, named[0], start_offset)
        if not force:
            await _check_hanging(cluster, producer)
        await abort_transaction(cluster, producer)
    if session.as_json:
        print_json({"topic": named[0].topic, "partition": named[0].partition, "aborted": True})
    else:
        say(f"aborted the transaction of producer {producer.producer_id} in {named[0]}")


async def _open_at(
    cluster: "ClusterClient", partition: "TopicPartition", start_offset: int
) -> "ActiveProducer":
    from barnabas.client.admin.active_producers import describe_producers

    for each in await describe_producers(cluster, [partition]):
        if each.transaction_start_offset == start_offset:
            return each
    raise CommandError(
        f"partition {partition}: no open transaction starts at offset {start_offset}; "
        "see `barnabas transactions producers`"
    )


async def _check_hanging(cluster: "ClusterClient", producer: "ActiveProducer") -> None:
    from barnabas.client.admin.active_producers import find_hanging
    from barnabas.client.admin.transactions import list_transactions

    now_ms = max(int(time() * 1000), producer.last_timestamp_ms)
    if producer in await find_hanging(cluster, [producer.partition], idle_since_ms=now_ms):
        return
    owners = await list_transactions(cluster, producer_ids=[producer.producer_id])
    fix = f". To end it now, run `barnabas transactions fence {owners[0].transactional_id}`"
    raise CommandError(
        f"partition {producer.partition}: the transaction at offset "
        f"{producer.transaction_start_offset} does not hang; its coordinator will end it"
        + (fix if owners else "")
    )


@app.command("fence", epilog="Example: barnabas transactions fence billing-1")
@cluster_command
async def fence(session: Session, ids: Ids) -> None:
    """Fence producers, and abort their open transactions.

    A running producer with one of these ids gets an error and cannot continue.
    """
    from barnabas.client.admin.transactions import fence_producer

    async with session.connect() as cluster:
        fenced = {each: await fence_producer(cluster, each) for each in ids}
    if session.as_json:
        print_json(
            [
                {
                    "transactional_id": name,
                    "producer_id": identity.producer_id,
                    "producer_epoch": identity.producer_epoch,
                }
                for name, identity in fenced.items()
            ]
        )
    else:
        for name in fenced:
            say(f"fenced the producer of transactional id {name}")
