"""`barnabas consume --share`: take records as a member of a share group, print and accept them."""

from collections.abc import Sequence
from typing import Literal

from barnabas.aio.queue import Queue
from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CLIENT_ID, Session
from barnabas.cli.records.consume_loop import POLL_S, Limits, Printer
from barnabas.cli.records.record_format import Renderer
from barnabas.client.share.queue_message import QueueMessage
from barnabas.records.message import Message

_AT_ONCE = 100  # records that are printed together


async def consume_share(
    session: Session,
    group_id: str,
    topics: Sequence[str],
    start: Literal["earliest"] | None,
    render: Renderer,
    limits: Limits,
) -> int:
    """A record is accepted when it is printed; one that can not be printed is released."""
    taken: dict[tuple[str, int, int], QueueMessage] = {}

    def accept(record: Message) -> None:
        taken.pop(_id_of(record)).accept()

    printer = Printer(render, limits, accept)
    poll_s = POLL_S if limits.timeout_s is None else min(POLL_S, limits.timeout_s)
    async with Queue(
        session.bootstrap,
        topics,
        group=group_id,
        start=start,
        isolation=None,
        prefetch=min(_AT_ONCE, limits.max_messages or _AT_ONCE),
        client_id=CLIENT_ID,
        security=session.config.security_settings,
    ) as queue:
        while printer.left != 0:
            wait_s = poll_s
            while (message := await queue.get(wait_s)) is not None:
                taken[_id_of(message.record)] = message
                if len(taken) == min(_AT_ONCE, printer.left or _AT_ONCE):
                    break
                wait_s = 0
            await printer.print([each.record for each in taken.values()], None)
            if printer.is_overdue:
                return printer.exit_code()
    return exit_codes.OK


def _id_of(record: Message) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset
