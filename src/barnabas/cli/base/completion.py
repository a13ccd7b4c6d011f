"""Names that a shell completes: topics and groups of the cluster that the command would talk to.

A shell must not hang or print errors because somebody pressed Tab, so a cluster that does not
answer at once completes nothing.
"""

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from barnabas.client.connect.cluster_client import ClusterClient

_PATIENCE_S = 2.0
_PATIENCE_MS = 1_500


def complete_topic(ctx: typer.Context, incomplete: str) -> list[str]:
    """Topics that begin so; internal ones only after `__`."""

    async def names(cluster: "ClusterClient") -> list[str]:
        found = await cluster.refresh(None)
        return [
            name
            for name, topic in found.items()
            if incomplete.startswith("__") or not (topic.is_internal or name.startswith("__"))
        ]

    return _complete(ctx, incomplete, names)


def complete_group(ctx: typer.Context, incomplete: str) -> list[str]:
    """Groups that begin so."""

    async def names(cluster: "ClusterClient") -> list[str]:
        from barnabas.client.admin.groups import list_groups

        return [group.group_id for group in await list_groups(cluster)]

    return _complete(ctx, incomplete, names)


def _complete(
    ctx: typer.Context,
    incomplete: str,
    names: "Callable[[ClusterClient], Awaitable[list[str]]]",
) -> list[str]:
    import asyncio

    from barnabas.cli.base.client_security import ClientConfig
    from barnabas.cli.base.command import CLIENT_ID
    from barnabas.client.connect.cluster_client import ClusterClient
    from barnabas.errors import BarnabasError

    async def ask() -> list[str]:
        config = ClientConfig(_given(ctx, "command_config"), _given(ctx, "bootstrap"))
        async with (
            asyncio.timeout(_PATIENCE_S),
            ClusterClient(
                config.bootstrap,
                client_id=CLIENT_ID,
                retry_timeout_ms=_PATIENCE_MS,
                request_timeout_ms=_PATIENCE_MS,
                connect_timeout_ms=_PATIENCE_MS,
                security=config.security(),
            ) as cluster,
        ):
            return await names(cluster)

    try:
        found = asyncio.run(ask())
    except (BarnabasError, OSError, TimeoutError):
        return []
    return sorted(name for name in found if name.startswith(incomplete))


def _given(ctx: typer.Context, option: str) -> Any:
    """What stands behind the command, or before it: no callback runs while a shell completes."""
    at: Any = ctx
    while at is not None:
        if at.params.get(option) is not None:
            return at.params[option]
        at = at.parent
    return None
