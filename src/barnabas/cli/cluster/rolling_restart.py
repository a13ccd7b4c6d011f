"""`barnabas cluster restart`: all nodes, one after the other, each when the cluster is healthy.

The active controller comes last, so that it moves once. If a node does not come back, the others
are left alone: they keep the cluster up.
"""

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from time import monotonic

from barnabas.cli.base.client_security import ClientConfig
from barnabas.cli.base.command import CommandError, Session, UsageError
from barnabas.cli.base.output import print_json, say
from barnabas.cli.base.supervisor_socket import ask_supervisor
from barnabas.cli.cluster.local_node import ADMINISTRATOR
from barnabas.cli.cluster.status_output import connect_briefly
from barnabas.cli.cluster.status_wait import wait_until_healthy, what_is_missing
from barnabas.diagnosis.status import ClusterStatus, NodeStatus
from barnabas.quantities import counted

_LOOK_EVERY_S = 0.2
_FIELD = re.compile(r"(?<!\$)\{(\w+)\}")

Restart = Callable[[NodeStatus], Awaitable[None]]


async def restart_local(
    session: Session, directory: Path, only: Collection[int], wait_s: float
) -> None:
    """Have the supervisor of a local cluster restart its nodes."""
    servers = (await ask_supervisor(directory, {"servers": True}))["servers"]
    config = session.config
    administrator = directory / ADMINISTRATOR
    if not config.security_settings and administrator.exists():
        config = ClientConfig(administrator, bootstrap=servers)

    async def restart(node: NodeStatus) -> None:
        await ask_supervisor(directory, {"restart": node.node_id})

    await _restart_all(Session(servers, session.as_json, config), restart, only, wait_s)


async def restart_by_command(
    session: Session, command: str, only: Collection[int], wait_s: float
) -> None:
    """Run a command for each node, which restarts it."""

    async def restart(node: NodeStatus) -> None:
        host, _, port = (node.address or "").rpartition(":")
        text = _filled(command, host=host, port=port, id=str(node.node_id))
        process = await asyncio.create_subprocess_shell(text)
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            raise
        if code:
            raise CommandError(f"the command failed with exit code {code}: {text}")

    _filled(command, host="", port="", id="")
    await _restart_all(session, restart, only, wait_s)


def _filled(command: str, **values: str) -> str:
    """What `${NAME}` stands for is the shell's business."""

    def value_of(field: re.Match[str]) -> str:
        name = field[1]
        if name not in values:
            raise UsageError(f"--command has {{{name}}}; it may have {{host}}, {{port}}, {{id}}")
        return shlex.quote(values[name])

    return _FIELD.sub(value_of, command)


async def _restart_all(
    session: Session, restart: Restart, only: Collection[int], wait_s: float
) -> None:
    began = monotonic()
    found = await _healthy(session, wait_s, "no node was restarted")
    nodes = _in_order(found, only)
    done: list[int] = []
    for node in nodes:
        say(f"restarting node {node.node_id} at {node.address}")
        try:
            await _until_gone(session, node, restart, wait_s)
        except CommandError as error:
            raise CommandError(f"node {node.node_id}: {error}; {_so_far(done, nodes)}") from error
        await _healthy(session, wait_s, _so_far(done, nodes))
        done.append(node.node_id)
    took_s = monotonic() - began
    if session.as_json:
        print_json({"restarted": done, "seconds": round(took_s, 1)})
    else:
        say(f"restarted {counted(len(done), 'node')} in {took_s:.0f} s")


async def _until_gone(session: Session, node: NodeStatus, restart: Restart, wait_s: float) -> None:
    """Restart a node, and wait until its old process has ended: a command may only have asked it.

    Until then, the cluster is as healthy as before.
    """
    async with connect_briefly(session) as cluster:
        await cluster.refresh([])
        connection = await cluster.connection(node.node_id)
        await restart(node)
        deadline = monotonic() + wait_s
        while not connection.closed:
            if monotonic() >= deadline:
                raise CommandError(f"its process has not ended {wait_s:g} s after it was told to")
            await asyncio.sleep(_LOOK_EVERY_S)


async def _healthy(session: Session, wait_s: float, so_far: str) -> ClusterStatus:
    found = await wait_until_healthy(session, wait_s)
    if not found.is_healthy:
        raise CommandError(
            f"the cluster is not healthy after {wait_s:g} s: {what_is_missing(found)}; {so_far}. "
            "See `barnabas cluster doctor`"
        )
    if found.unknown:
        whys = "; ".join(found.unknown.values())
        raise CommandError(
            f"this user may not see whether the cluster is healthy; {so_far}. Missing: {whys}"
        )
    return found


def _in_order(found: ClusterStatus, only: Collection[int]) -> list[NodeStatus]:
    unknown = sorted(set(only) - {each.node_id for each in found.nodes})
    if unknown:
        raise UsageError(f"there is no node {unknown[0]}; see `barnabas cluster status`")
    chosen = [each for each in found.nodes if not only or each.node_id in only]
    return sorted(chosen, key=lambda each: (each.is_controller, each.node_id))


def _so_far(done: list[int], nodes: list[NodeStatus]) -> str:
    left = [str(each.node_id) for each in nodes if each.node_id not in done][1:]
    said = f"restarted before it: {', '.join(map(str, done)) or 'none'}"
    return f"{said}; not restarted: {', '.join(left) or 'none'}"
