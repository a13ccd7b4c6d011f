"""Requests that a browser sends for a page that may want to do harm.

A page of another site can let a browser send requests anywhere; then `Origin` has another host than
`Host`. With DNS rebinding it can also give its own name the address of a server here: then `Host`
has that name, and the page can read the answers. It can't do that with an address or `localhost`.

Programs reach a server by many names, and a page can't keep its browser from sending
`Accept-Language`. So browsers alone are restricted: to addresses by `no_browsers`, for metrics and
probes, and to these and names that are known by `known_hosts`.
"""

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from socket import gethostname
from urllib.parse import urlsplit

PageGuard = Callable[[Mapping[str, str]], str | None]
"""Given the headers of a request, by lower-case names, says why it is refused, or None. Raises
`ValueError` for headers that can't be read."""

OTHER_PAGES = "requests of other web pages are refused"


def known_hosts(hosts: Iterable[str], option: str) -> PageGuard:
    """Lets browsers ask for addresses, this machine and `hosts`; `option` adds to these."""
    known = {each.lower() for each in hosts} | {gethostname().lower()}

    def refusal(headers: Mapping[str, str]) -> str | None:
        if _comes_from_elsewhere(headers):
            return OTHER_PAGES
        host = _host(headers)
        if not _is_browser(headers) or _is_of_machine(host) or host in known:
            return None
        return (
            f"{OTHER_PAGES}; if {host[:100]!r} is a name of this server, add {option} {host[:100]}"
        )

    return refusal


def no_browsers(headers: Mapping[str, str]) -> str | None:
    """Lets all through but browsers that ask for a name, or for pages of other sites."""
    from_elsewhere = _comes_from_elsewhere(headers)
    if from_elsewhere or (_is_browser(headers) and not _is_of_machine(_host(headers))):
        return f"{OTHER_PAGES}; browsers reach this server by its address"
    return None


def _is_browser(headers: Mapping[str, str]) -> bool:
    return any(name in headers for name in ("accept-language", "sec-fetch-site", "origin"))


def _comes_from_elsewhere(headers: Mapping[str, str]) -> bool:
    origin = headers.get("origin")
    is_other = origin is not None and urlsplit(origin).netloc != headers.get("host")
    return is_other or headers.get("sec-fetch-site") in ("cross-site", "same-site")


def _host(headers: Mapping[str, str]) -> str:
    return urlsplit(f"//{headers.get('host', 'localhost')}").hostname or ""


def _is_of_machine(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return True
