"""`/connectors/NAME/offsets`: positions, which are in Spark's checkpoints, or a mirror's target."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from barnabas.aio.admin import Admin
from barnabas.connect.mirror_positions import (
    change_mirror_offsets,
    forget_mirror_offsets,
    mirror_offsets,
)
from barnabas.connect.positions import folder_of, offsets_of
from barnabas.connect.rest.answers import ApiError, answer
from barnabas.connect.rest.api_context import ApiContext
from barnabas.connect.state.records import reset_key, start_key
from barnabas.errors import BarnabasError, UnknownTopic
from barnabas.spark.pipelines.connectors.mirrors import is_mirror
from barnabas.spark.pipelines.connectors.pipeline_files import FILE
from barnabas.web.messages import Request, Response

_EARLIEST = -2


async def get_offsets(context: ApiContext, request: Request) -> Response:
    """GET /connectors/NAME/offsets."""
    try:
        config = context.definition(request.path[1]).config
        if is_mirror(config):
            return answer({"offsets": await mirror_offsets(config)})
        return answer({"offsets": await _positions(context, request.path[1])})
    except BarnabasError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, str(error)) from None


async def delete_offsets(context: ApiContext, request: Request) -> Response:
    """DELETE /connectors/NAME/offsets: a stopped connector starts over."""
    name = request.path[1]
    async with context.lock(name):
        config = context.definition(name).config
        if is_mirror(config):
            _check_stopped(context, name)
            with _refusal():
                await forget_mirror_offsets(config)
        else:
            await _reset(context, name, None)
    return answer({"message": f"The offsets for connector {name} have been reset successfully"})


async def patch_offsets(context: ApiContext, request: Request) -> Response:
    """PATCH /connectors/NAME/offsets: a stopped connector that reads topics begins there.

    Spark's checkpoint can't be given a position. It is deleted, and the next start begins with the
    offsets that are kept for it: those of before, changed as the request says.
    """
    name = request.path[1]
    body = request.json_object()
    if is_mirror(context.definition(name).config):
        return await _patch_mirror(context, name, body)
    wanted = changed_offsets(body)
    async with context.lock(name):
        context.definition(name)
        start = await _current(context, name, wanted)
        for (topic, partition), offset in wanted.items():
            start[topic][str(partition)] = offset
        await _reset(context, name, start, {topic for topic, _ in wanted})
    return _altered(name)


async def _patch_mirror(context: ApiContext, name: str, body: dict[str, Any]) -> Response:
    """The positions of a mirror are in its target: they are changed there, and at once."""
    async with context.lock(name):
        config = context.definition(name).config
        _check_stopped(context, name)
        with _refusal():
            await change_mirror_offsets(config, body)
    return _altered(name)


def _altered(name: str) -> Response:
    return answer({"message": f"The offsets for connector {name} have been altered successfully"})


def changed_offsets(body: dict[str, Any]) -> dict[tuple[str, int], int]:
    """What a request wants to change; an offset of null is the beginning. Raises `ApiError`."""
    found = {}
    try:
        for each in body["offsets"]:
            partition, offset = each["partition"], each["offset"]
            where = (str(partition["kafka_topic"]), int(partition["kafka_partition"]))
            found[where] = _EARLIEST if offset is None else int(offset["kafka_offset"])
    except (KeyError, TypeError, ValueError):
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            'write {"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, '
            '"offset": {"kafka_offset": 5}}]}; only offsets of topics can be changed',
        ) from None
    if not found or any(offset < _EARLIEST for offset in found.values()):
        raise ApiError(HTTPStatus.BAD_REQUEST, "name at least one offset, of 0 or more")
    return found


async def _current(
    context: ApiContext, name: str, wanted: Iterable[tuple[str, int]]
) -> dict[str, dict[str, int]]:
    """The offsets of all partitions: of the checkpoint, else where it would begin without one."""
    known = await _positions(context, name)
    start: dict[str, dict[str, int]] = {}
    try:
        given = context.settings
        async with Admin(given.bootstrap, security=given.security) as admin:
            for topic in {topic for topic, _ in wanted}:
                partitions = (await admin.describe_topic(topic)).partitions
                start[topic] = {str(each): _EARLIEST for each in range(len(partitions))}
    except UnknownTopic as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, str(error)) from None
    for topic, offsets in (context.definition(name).start or {}).items():
        start.setdefault(topic, {}).update(offsets)
    for topic, offsets in _of_topics(known).items():
        start.setdefault(topic, {}).update(offsets)
    return start


async def _positions(context: ApiContext, name: str) -> list[dict[str, Any]]:
    """What the checkpoints of a connector have; raises `ApiError` if there is no connector."""
    several = FILE in context.definition(name).config
    folder = folder_of(context.settings.checkpoints, context.settings.logs)
    return await asyncio.to_thread(offsets_of, folder, name, several=several)


def _of_topics(positions: Iterable[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Offsets by topic; the lowest where several pipelines read one, so that none skips rows."""
    found: dict[str, dict[str, int]] = {}
    for each in positions:
        topic = each["partition"].get("kafka_topic")
        if topic is not None:
            partition, offset = str(each["partition"]["kafka_partition"]), each["offset"]
            offsets = found.setdefault(topic, {})
            lowest = min(offset["kafka_offset"], offsets.get(partition, offset["kafka_offset"]))
            offsets[partition] = lowest
    return found


async def _reset(
    context: ApiContext,
    name: str,
    start: dict[str, dict[str, int]] | None,
    changed: Iterable[str] = (),
) -> None:
    """Let it begin at `start`, in which these topics were changed, or over.

    Before the first checkpoint is deleted, it is written where to begin, and that a reset is
    pending, both at once. So whenever this instance dies, the connector goes on as before, or the
    next leader finishes the reset before it starts the connector (`Runner.finish_resets`).
    """
    config = context.definition(name).config
    _check_stopped(context, name)
    with _refusal():
        await context.runner.check_reset(config, start, changed)
    with context.runner.resetting(name), _refusal():
        await context.write_configs({start_key(name): start, reset_key(name): {}})
        await context.runner.reset(name, config, start)
        await context.write_configs({reset_key(name): None})


@contextmanager
def _refusal() -> Iterator[None]:
    try:
        yield
    except BarnabasError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, str(error)) from None


def _check_stopped(context: ApiContext, name: str) -> None:
    found = context.topics.status(name)
    if context.definition(name).target != "STOPPED" or (found and found.state != "STOPPED"):
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            "Connectors must be in the STOPPED state before their offsets can be modified. This "
            f"can be done for connector {name} with PUT /connectors/{name}/stop",
        )
