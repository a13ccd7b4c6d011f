"""`/livez`, `/readyz`, `/metrics` and `/state` of an application, over HTTP."""

from http import HTTPStatus
from typing import TYPE_CHECKING

from barnabas.app.state.page import StatePages, check_exposure
from barnabas.metrics.exposition import CONTENT_TYPE, Samples
from barnabas.web.messages import Request, Response
from barnabas.web.page_guard import no_browsers
from barnabas.web.pages import PAGE_LIMITS, page, serving, text_refusal
from barnabas.web.server import Handler, HttpServer

if TYPE_CHECKING:
    from barnabas.app.app import App


class AppPages:
    """Serves until it is closed."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._server = HttpServer(text_refusal, PAGE_LIMITS, guard=no_browsers)

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port, which is a free one for 0.

        Raises `InvalidArgument` if others could read the state.
        """
        if self._app.serves_state:
            check_exposure(host, self._app.state_token)
        found = await self._server.listen(host, port)
        pages = {"/livez": self._livez, "/readyz": self._readyz, "/metrics": self._metrics}
        if self._app.serves_state:
            await self._server.serve(self._with_state(serving(pages)))
        else:
            await self._server.serve(serving(pages))
        return found

    def _with_state(self, others: Handler) -> Handler:
        states = StatePages(self._app, self._app.state_token)

        async def answer(request: Request) -> Response:
            if request.path[:1] == ("state",):
                return await states.answer(request)
            return await others(request)

        return answer

    async def close(self) -> None:
        await self._server.close()

    async def _livez(self) -> Response:
        """The loop answers, so the process is alive; a handler that failed is not."""
        failure = self._app.failure
        if failure is None:
            return page(b"ok\n")
        return page(f"{failure}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)

    async def _readyz(self) -> Response:
        if self._app.is_ready and self._app.failure is None:
            return page(b"ok\n")
        reasons = "".join(f"\n{each}" for each in self._app.waits_for)
        return page(f"not ready{reasons}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)

    async def _metrics(self) -> Response:
        return page(metrics_of(self._app), content_type=CONTENT_TYPE)


def metrics_of(app: "App") -> bytes:
    """All metrics of an application, in the text format of Prometheus."""
    samples = Samples()
    for name, handler in app.handlers.items():
        handler.statistics.add_to(samples, name)
    return b"".join(samples.encoded())
