"""An application inside an ASGI service of a framework without lifespans, such as Django."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.app.app import App

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


class AppLifespan:
    """Answers the lifespan events of the server, and leaves everything else to `inner`."""

    def __init__(self, app: "App", inner: Asgi) -> None:
        self._app = app
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._inner(scope, receive, send)
            return
        await receive()  # lifespan.startup
        phase = "startup"
        try:
            async with self._app.started():
                await send({"type": "lifespan.startup.complete"})
                await receive()  # lifespan.shutdown
                phase = "shutdown"
        except BaseException as error:
            await send({"type": f"lifespan.{phase}.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.shutdown.complete"})
