"""A broker made of answers, for faults that a real one does not have on demand."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Self

from barnabas.wire.framing import decode_request, decode_request_header, encode_response
from barnabas.wire.message import Request, Response
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.list_offsets import ListOffsetsRequest
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.primitives import INT32, Reader

Answer = Response | None
Handler = Callable[[Any], Answer | Awaitable[Answer]]


class FakeBroker:
    """Listens on a free port; `on` says how a request is answered, None is no answer at all."""

    def __init__(self, topics: dict[str, int] | None = None) -> None:
        self.topics = dict(topics or {})
        self.seen: list[Request[Response]] = []
        self.seen_versions: list[int] = []
        self.features: dict[str, int] = {}
        self.versions: dict[int, tuple[int, int]] = {}
        self.advertised: tuple[str, int] | None = None
        self._handlers: dict[int, tuple[type[Request[Response]], Handler]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.on(ApiVersionsRequest, self.api_versions)
        self.on(MetadataRequest, self.metadata)

    async def __aenter__(self) -> Self:
        listening = socket.create_server(("127.0.0.1", 0))
        # Little fits into the kernel, so that a slow broker is felt by its client.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        self._server = await asyncio.start_server(self._serve, sock=listening)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def on(self, request_type: type[Any], handler: Handler) -> None:
        self._handlers[request_type.API_KEY] = (request_type, handler)

    def count(self, request_type: type[Any]) -> int:
        return sum(isinstance(request, request_type) for request in self.seen)

    def api_versions(self, _: ApiVersionsRequest) -> ApiVersionsResponse:
        features = [FinalizedFeatureKey(*each, 0) for each in self.features.items()]
        return ApiVersionsResponse(api_keys=self.api_keys(), finalized_features=features)

    def api_keys(self) -> list[ApiVersion]:
        """What has a handler, and what tests give one only when a connection is open."""
        kinds = {kind for kind, _ in self._handlers.values()}
        kinds |= {ProduceRequest, FetchRequest, ListOffsetsRequest}
        return [
            ApiVersion(
                kind.API_KEY,
                *self.versions.get(kind.API_KEY, (kind.MIN_VERSION, kind.MAX_VERSION)),
            )
            for kind in kinds
        ]

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        host, port = self.advertised or ("127.0.0.1", self.port)
        asked = request.topics
        names = list(self.topics) if asked is None else [topic.name or "" for topic in asked]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(1, host, port)],
            controller_id=1,
            topics=[
                MetadataResponseTopic(
                    error_code=0 if name in self.topics else 3,
                    name=name,
                    partitions=[
                        MetadataResponsePartition(partition_index=index, leader_id=1)
                        for index in range(self.topics.get(name, 0))
                    ],
                )
                for name in names
            ],
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                (size,) = INT32.unpack(await reader.readexactly(4))
                r = Reader(await reader.readexactly(size))
                header = decode_request_header(r)
                kind, handler = self._handlers[header.api_key]
                request = decode_request(r, kind, header.api_version)
                self.seen.append(request)
                self.seen_versions.append(header.api_version)
                answer = handler(request)
                if isinstance(answer, Awaitable):
                    answer = await answer
                if answer is not None:
                    frame = encode_response(answer, header.api_version, header.correlation_id)
                    writer.writelines(frame)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
