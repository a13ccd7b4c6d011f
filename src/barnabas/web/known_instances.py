"""Which instances of a service a request is passed on to.

The leader's URL is in a record of a topic, which others may be able to write, and requests have
passwords in them. So the URL has to be one of `--instances`. Without these, both this one and the
leader have to listen on `localhost`.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from barnabas.web.loopback import is_loopback


def is_known(url: str, own_url: str, instances: Iterable[str]) -> bool:
    """Whether the leader at `url` may be asked."""
    known = [each.rstrip("/") for each in instances]
    if known:
        return url.rstrip("/") in known
    return _is_local(url) and _is_local(own_url)


def _is_local(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False
