"""Who the owner of a certificate is: `ssl.principal.mapping.rules`.

The rules are Kafka's, separated by commas. The first that matches the whole distinguished name
decides; without a match the certificate is refused.

    DEFAULT                           the distinguished name itself
    RULE:PATTERN/REPLACEMENT/[LU]     $1, $2 are groups of the pattern; L and U: lower, upper case
"""

import re
from collections.abc import Callable

_RULES = re.compile(
    r"\s*(?:(?P<default>DEFAULT)"
    r"|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,|$)"
)
_GROUP = re.compile(r"\\(.)|\$(\d)")

_Rule = Callable[[str], str | None]


class PrincipalRules:
    """The rules of one listener."""

    def __init__(self, text: str) -> None:
        """Raises `ValueError`."""
        self._rules: list[_Rule] = []
        at = 0
        text = text.strip()
        while at < len(text):
            found = _RULES.match(text, at)
            if found is None:
                raise ValueError(
                    f"{text[at:]!r} is not a rule; write DEFAULT or RULE:PATTERN/REPLACEMENT/[LU]"
                )
            at = found.end()
            self._rules.append(_itself if found["default"] else _replacing(found))
        if not self._rules:
            raise ValueError("there is no rule; write DEFAULT or RULE:PATTERN/REPLACEMENT/[LU]")

    def name_of(self, distinguished_name: str) -> str | None:
        """The name of the principal; None if no rule matches."""
        for rule in self._rules:
            name = rule(distinguished_name)
            if name is not None:
                return name
        return None


def _itself(distinguished_name: str) -> str:
    return distinguished_name


def _replacing(rule: re.Match[str]) -> _Rule:
    text, case = rule["pattern"].replace("\\/", "/"), rule["case"]
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    replacement = rule["replacement"]

    def apply(distinguished_name: str) -> str | None:
        found = pattern.fullmatch(distinguished_name)
        if found is None:
            return None

        def insert(part: re.Match[str]) -> str:
            if part[1] is not None:
                return part[1]
            number = int(part[2])
            return (found[number] or "") if number <= pattern.groups else part[0]

        name = _GROUP.sub(insert, replacement)
        return {"L": name.lower(), "U": name.upper()}.get(case, name)

    return apply
