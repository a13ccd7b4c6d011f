"""Requests that carry secrets are for one URL only: redirects are not followed."""

import ssl
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, build_opener


class _NoRedirection(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """The answer stays an error."""


def opener_without_redirects(context: ssl.SSLContext | None = None) -> OpenerDirector:
    """Opens URLs; a redirect is an `HTTPError`. `context` says which certificates are trusted."""
    handlers = [] if context is None else [HTTPSHandler(context=context)]
    return build_opener(_NoRedirection, *handlers)
