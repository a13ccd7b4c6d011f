"""Settings whose values are secrets, whichever system they are of, and secrets inside texts."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

HIDDEN = "(hidden)"
"""What is shown instead of a secret."""

_SECRET = re.compile(
    r"passw(or)?d|passphrase|secret|token|credential|jaas|auth\.user\.info|connection\.string"
    r"|(access|account|api|private|shared|keystore|ssl)\.?key(\.pem)?$|access\.key|private\.key"
    r"|(^|\.)(url|uri|dsn|headers)$"
)
_NAMES = r"passw(?:or)?d|pwd|passphrase|secret|token|credential|(?:api|access|account|private).?key"
_IN_TEXT = re.compile(  # in linear time, as users write these texts: names of bounded length
    # the user and the password of a URL, up to the last @ of its host
    r"""://(?P<user>[^/\s'"]*)(?P<host>@[^/\s'"?#,;)]*)"""
    # name=value, name => 'value', "name": "value"
    rf"""|(?<![\w.-])(?=[\w.-]{{0,80}}?(?:{_NAMES}))[\w.-]{{1,160}}+(?:["']\s*:|["']?\s*=>?)\s*"""
    r"""(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>\(hidden\)|[^\s,;&'")]+))"""
    r"|\b(?:Bearer|Basic)\s+(?P<header>\(hidden\)|[\w+/=.~-]{8,})",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[\w+.:-]{0,40}$")
_VALUES = ("user", "double", "single", "bare", "header")


class HiddenPart(NamedTuple):
    """A secret in a text, with what has to stand before and after it to know it again."""

    start: int
    secret: str
    before: str
    after: str


def is_secret(name: str) -> bool:
    """Whether the value of a setting is not shown: it is a password, or may have one in it."""
    return _SECRET.search(name.replace("_", ".").lower()) is not None


def hidden_parts(text: str) -> Iterator[HiddenPart]:
    """Passwords of URLs, and values of names such as `password` and `token`, in their order."""
    for found in _IN_TEXT.finditer(text):
        group = next(each for each in _VALUES if found[each] is not None)
        start, end = found.span(group)
        if end > start:
            before = text[found.start() : start]
            if group == "user":
                scheme = _SCHEME.search(text[max(0, found.start() - 40) : found.start()])
                before = (scheme[0] if scheme else "") + before
            yield HiddenPart(start, found[group], before, text[end : found.end()])


def without_credentials(text: str) -> str:
    """A text without the secrets that can be recognised in it."""
    shown, at = [], 0
    for each in hidden_parts(text):
        shown += [text[at : each.start], HIDDEN]
        at = each.start + len(each.secret)
    return "".join([*shown, text[at:]])


def shown_setting(name: str, value: str) -> str:
    """The value of a setting as users and logs may see it."""
    return HIDDEN if is_secret(name) else without_credentials(value)


def without_secrets_of(text: str, settings: Mapping[str, Any]) -> str:
    """A text, as an error, that may quote secrets of these settings."""
    secrets = {each for name, value in settings.items() for each in _secrets(name, value)}
    for each in sorted(secrets - {"", HIDDEN}, key=len, reverse=True):
        text = text.replace(each, HIDDEN)
    return without_credentials(text)


def _secrets(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _secrets(str(inner), each)
    elif value is not None and is_secret(name):
        yield str(value)
    elif isinstance(value, str):
        for part in hidden_parts(value):
            yield part.secret
            if part.after.startswith("@"):
                yield part.secret.partition(":")[2]
