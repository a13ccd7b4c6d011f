"""Requests of web pages that may want to do harm, and those of programs and people."""

from socket import gethostname

import pytest

from barnabas.web.page_guard import known_hosts, no_browsers

GUARD = known_hosts(("connect.example.com",), "--public-host")
FIREFOX = {"user-agent": "Mozilla/5.0", "accept-language": "en"}


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8083", "[::1]:8083", "10.0.0.7", "localhost:1", "a.localhost", gethostname()],
)
def test_addresses_and_names_of_the_machine_are_known(host: str) -> None:
    assert GUARD({"host": host}) is None
    assert GUARD({"host": host, "origin": f"http://{host}"}) is None
    assert no_browsers({"host": host.replace(gethostname(), "[::1]"), **FIREFOX}) is None


def test_names_that_are_given_are_known() -> None:
    assert GUARD({"host": "Connect.Example.com:8083"}) is None
    assert GUARD({"host": "Connect.Example.com:8083", **FIREFOX}) is None
    assert GUARD({}) is None, "a program of HTTP/1.0"


@pytest.mark.parametrize("host", ["evil.example:8083", "connect.example.com.evil.example", "x"])
def test_a_page_that_has_rebound_its_name_is_refused(host: str) -> None:
    """Its name has the address of this server now, so `Origin` is no other site."""
    for headers in ({"origin": f"http://{host}"}, FIREFOX):
        said = GUARD({"host": host, **headers})
        assert said is not None
        assert "--public-host" in said
    assert no_browsers({"host": host, **FIREFOX}) is not None
    assert no_browsers({"host": host, "origin": f"http://{host}"}) is not None


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:8083", "origin": "https://evil.example"},
        {"host": "localhost:8083", "origin": "null"},
        {"host": "localhost:8083", "sec-fetch-site": "cross-site"},
    ],
)
def test_pages_of_other_sites_are_refused(headers: dict[str, str]) -> None:
    assert GUARD(headers) is not None
    assert no_browsers(headers) is not None


def test_programs_may_use_any_name() -> None:
    assert GUARD({"host": "connect:8083", "user-agent": "curl/8"}) is None
    assert no_browsers({"host": "node-1.example.com:9644", "user-agent": "Prometheus/3"}) is None
    assert no_browsers({"host": "localhost:9644", "sec-fetch-site": "none", **FIREFOX}) is None


@pytest.mark.parametrize("host", ["[", "a:b:c]"])
def test_a_host_that_is_none(host: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid|netloc"):
        GUARD({"host": host})
