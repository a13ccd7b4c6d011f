"""The value of `sasl.jaas.config`: which login module, and its options.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="alice" password="secret" user_alice="secret";

Only one entry, as in Kafka. Options are NAME=VALUE; a value with other characters than letters,
digits and some punctuation stands in double quotes, in which a backslash escapes. Errors do not
quote the text, since it has passwords.
"""

import re
from dataclasses import dataclass, field
from typing import NoReturn

_TOKEN = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|([^\s="';\\]+)|(=)|(;))""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_FLAGS = ("required", "requisite", "sufficient", "optional")
_USER = "user_"


@dataclass(frozen=True, slots=True)
class JaasEntry:
    module: str
    """The name of the class without its package, such as PlainLoginModule."""
    options: dict[str, str] = field(repr=False)

    @property
    def users(self) -> dict[str, str]:
        """Passwords by user: `user_alice="secret"`."""
        return {
            name.removeprefix(_USER): value
            for name, value in self.options.items()
            if name.startswith(_USER) and len(name) > len(_USER)
        }


def parse_jaas(text: str) -> JaasEntry:
    """Raises `ValueError`, with a message that shows nothing of the text."""
    tokens = _tokens(text)
    if len(tokens) < 2 or tokens[1].lower() not in _FLAGS:
        _refuse("it begins with a login module and `required`")
    if tokens[-1] != ";" or ";" in tokens[:-1]:
        _refuse("it has one entry, which ends with a semicolon")
    options, rest = {}, tokens[2:-1]
    for at in range(0, len(rest), 3):
        name, *assigned = rest[at : at + 3]
        if len(assigned) < 2 or assigned[0] != "=" or name == "=":
            _refuse('options are written as name="value"')
        options[name] = assigned[1]
    return JaasEntry(tokens[0].rpartition(".")[2], options)


def _tokens(text: str) -> list[str]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            _refuse("a quote is not closed, or a character is not in quotes")
        quoted, *others = match.groups()
        if quoted is not None:
            found.append(_ESCAPE.sub(lambda each: _ESCAPED.get(each[1], each[1]), quoted))
        else:
            found.append(next(other for other in others if other is not None))
        at = match.end()
    return found


def _refuse(why: str) -> NoReturn:
    raise ValueError(
        f'a JAAS configuration is written as MODULE required name="value" ...; here {why}'
    )
