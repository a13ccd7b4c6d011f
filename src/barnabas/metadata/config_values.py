"""Configuration values: their types, how text becomes a value, what is valid.

Everything configurable is declared once as a `ConfigDef`; describing, checking and parsing all
work from that declaration.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import IntEnum
from math import isfinite, nan

ConfigValue = str | int | float | bool | None
LISTENER_PREFIX = "listener.name."
"""Begins the name of a setting of one listener: `listener.name.NAME.SETTING`."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What to put behind the refusal of a name: the one that was meant, if one is near."""
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


class ConfigType(IntEnum):
    """Types as DescribeConfigs reports them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    PASSWORD = 9
    """Text that is shown nowhere."""


class InvalidConfigError(ValueError):
    """A value that its declaration does not allow; the message names what it does allow."""


_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,40}")
_RANGES = {
    ConfigType.SHORT: (-(2**15), 2**15 - 1),
    ConfigType.INT: (-(2**31), 2**31 - 1),
    ConfigType.LONG: (-(2**63), 2**63 - 1),
}


@dataclass(frozen=True, slots=True)
class ConfigDef:
    """One setting: name, type, default, what is valid, what it means."""

    name: str
    type: ConfigType
    default: str | None
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    dynamic: bool = False
    """Whether a broker takes a new value while it runs."""
    synonym: str | None = None
    """For a topic's setting: the broker's setting that gives its default."""
    default_has_synonym: bool = True
    """Whether DescribeConfigs names that setting for a value that is the built-in default. Not if
    it is unset in Kafka, where the default is that of another: `log.retention.hours`."""
    without_effect: str | None = None
    """Why nothing reads it: Kafka has settings that mean nothing here."""
    items: str | None = None
    """The regular expression of the value, or of an item of a list, where `choices` do not say
    it."""
    per_listener: bool = False
    """Whether a listener may have its own value: `listener.name.NAME.SETTING`."""
    needs: tuple[str, ...] = ()
    """Items that a list has to have, because what they stand for is always on."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other words for `choices`, such as the names of Kafka's classes."""

    def of_listener(self, name: str) -> "ConfigDef":
        """This setting of one listener, under its name with the prefix."""
        return replace(self, name=name, default=None)

    def parse(self, text: str | None) -> ConfigValue:
        """The value that `text` stands for, or `InvalidConfigError`."""
        if text is None:
            if self.default is not None:
                raise InvalidConfigError(f"{self.name} needs a value")
            return None
        match self.type:
            case ConfigType.BOOLEAN:
                return self._boolean(text)
            case ConfigType.STRING | ConfigType.PASSWORD:
                return self._choice(text)
            case ConfigType.LIST:
                return self._list(text)
            case ConfigType.DOUBLE:
                return self._double(text)
            case _:
                return self._integer(text)

    def _boolean(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise InvalidConfigError(f"{self.name} must be true or false, not {text!r}")
        return self._choice(text.lower()) == "true"

    def _choice(self, text: str) -> str:
        if self.items and self.type is ConfigType.STRING and not re.fullmatch(self.items, text):
            raise InvalidConfigError(f"{self.name} can't be {text!r}; {self.doc}")
        text = self.aliases.get(text, text)
        if self.choices and text not in self.choices:
            raise InvalidConfigError(f"{self.name} must be {self._allowed()}, not {text!r}")
        return text

    def _allowed(self) -> str:
        """The choices in words, with the reason if there is only one."""
        named = [choice for choice in self.choices if choice]
        words = named[0] if len(named) == 1 else f"one of {', '.join(named)}"
        if len(named) < len(self.choices):
            return f"empty or {words}"
        if len(named) == 1 and self.without_effect:
            return f"{words} ({self.without_effect})"
        return words

    def _list(self, text: str) -> str:
        items = [self._choice(item.strip()) for item in text.split(",") if item.strip()]
        wrong = [item for item in items if self.items and not re.fullmatch(self.items, item)]
        if wrong:
            raise InvalidConfigError(f"{self.name} can't have {wrong[0]!r}; {self.doc}")
        if self.choices and not items and "" not in self.choices:
            raise InvalidConfigError(f"{self.name} needs one or more of {', '.join(self.choices)}")
        missing = [item for item in self.needs if item not in items]
        if missing:
            raise InvalidConfigError(
                f"{self.name} must have {' and '.join(missing)}, not only {','.join(items)!r}: "
                f"{self.without_effect}"
            )
        return ",".join(items)

    def _double(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = nan
        if not isfinite(value):
            raise InvalidConfigError(f"{self.name} must be a number, not {text!r}")
        self._check_bounds(value)
        return value

    def _integer(self, text: str) -> int:
        # Other programs read the text back, so what only Python takes for a number is refused.
        if not _WHOLE_NUMBER.fullmatch(text.strip()):
            raise InvalidConfigError(f"{self.name} must be a whole number, not {text!r}")
        value = int(text)
        low, high = _RANGES[self.type]
        if not low <= value <= high:
            raise InvalidConfigError(f"{self.name} must be between {low} and {high}, not {value}")
        self._check_bounds(value)
        return value

    def _check_bounds(self, value: float) -> None:
        if self.low is not None and value < self.low:
            raise InvalidConfigError(f"{self.name} must be at least {self.low}, not {value}")
        if self.high is not None and value > self.high:
            raise InvalidConfigError(f"{self.name} must be at most {self.high}, not {value}")
