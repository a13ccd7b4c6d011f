"""Which instances a request is passed on to.

The leader's URL is in a record of the status topic, and requests have passwords in them. So the URL
has to be one of `--instances`. Without these, both this one and the leader have to listen on
`localhost`.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_known(url: str, own_url: str, instances: Iterable[str]) -> bool:
    """Whether the leader at `url` may be asked."""
    known = [each.rstrip("/") for each in instances]
    if known:
        return url.rstrip("/") in known
    return _is_local(url) and _is_local(own_url)


def _is_local(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
