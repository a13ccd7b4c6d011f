"""The client of the REST API, and servers that are something else."""

import pytest

from barnabas.connect.rest_client import RestClient
from barnabas.errors import BarnabasError
from tests.support.http_server import HttpServer


# An id as long as the last body would be in the environment of every process that is started.
@pytest.mark.parametrize(
    "body",
    [b"<html>Welcome</html>", b"\xff\xfe\xfa", b"[" * 200_000],
    ids=["html", "bytes", "deep"],
)
def test_an_answer_that_is_not_json_is_said(body: bytes) -> None:
    server = HttpServer(lambda _: (200, body))
    try:
        with pytest.raises(BarnabasError, match="does not answer with JSON") as error:
            RestClient(server.url).call("GET", "connectors")
        assert server.url in str(error.value)
        assert len(str(error.value)) < 500
    finally:
        server.close()
