"""A handler with a state, of an application that commands load, and the cluster that it is in."""

from typing import TYPE_CHECKING

from barnabas.cli.application.loading import load
from barnabas.cli.base.client_security import cluster_override
from barnabas.cli.base.command import CLIENT_ID, CommonOptions

if TYPE_CHECKING:
    from barnabas import aio
    from barnabas.app.app import App
    from barnabas.app.handler import Handler
    from barnabas.app.state.declaration import StateDeclaration


class StatefulHandler:
    """Of an application whose cluster is the one that `app run` would use."""

    def __init__(self, app: "App", handler: "Handler") -> None:
        self.app = app
        self.handler = handler

    @property
    def declared(self) -> "StateDeclaration":
        assert self.handler.state is not None
        return self.handler.state

    def admin(self) -> "aio.Admin":
        from barnabas import aio

        return aio.Admin(
            self.app.bootstrap_servers, client_id=CLIENT_ID, security=self.app.security
        )

    async def fence(self) -> None:
        """Roll back what workers that were killed have left open."""
        from barnabas.app.cluster_connections import ClusterConnections

        if self.handler.exactly_once:
            connections = ClusterConnections(
                self.app.bootstrap_servers, CLIENT_ID, self.app.security, {}
            )
            await connections.fence_abandoned(
                self.handler.group_name, self.handler.worker_id_prefix
            )


def stateful_app(name: str, common: CommonOptions) -> "App":
    """The application, with the cluster that options and variables name."""
    app = load(name)
    override = cluster_override(common.command_config, common.bootstrap)
    app.security = app.security if override.security is None else override.security
    app.bootstrap_servers = override.bootstrap or app.bootstrap_servers
    return app


def stateful_handler(name: str, handler: str, common: CommonOptions) -> StatefulHandler:
    """Raises `InvalidArgument` if the application has no such handler with a state."""
    from barnabas.app.state.opening import stateful

    app = stateful_app(name, common)
    return StatefulHandler(app, stateful(app.handlers.values(), handler))
