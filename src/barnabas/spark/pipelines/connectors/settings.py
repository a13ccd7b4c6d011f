"""Settings of a connector, from the arguments of the function that makes its source or sink.

A setting is called as the argument, with dots for underscores (`max.changes.per.batch`); the
argument's own name is understood too. So a new source or sink needs no code here.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from barnabas.errors import InvalidArgument
from barnabas.security.secret_settings import is_secret
from barnabas.spark.pipelines.definition.argument_values import argument_values

SettingType: TypeAlias = Literal["STRING", "BOOLEAN", "INT", "LIST", "PASSWORD", "CLASS"]
Importance: TypeAlias = Literal["HIGH", "MEDIUM", "LOW"]

_NOT_A_TEXT = {"expect"}
_ITEM = re.compile(r"^\s*- `([\w`, ]+)`: (.*)$")
_LIKENESS = 0.7


@dataclass(frozen=True)
class Setting:
    """One setting, as `/connector-plugins/NAME/config` describes it."""

    name: str
    type: SettingType = "STRING"
    default: str | None = None
    documentation: str = ""
    required: bool = False
    group: str = "Common"
    importance: Importance = "MEDIUM"
    recommended: tuple[str, ...] = ()


@dataclass
class ConfigErrors:
    """What is wrong with settings, by setting."""

    found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, message: str) -> None:
        messages = self.found.setdefault(name, [])
        if message not in messages:
            messages.append(message)

    def __bool__(self) -> bool:
        return bool(self.found)

    def messages(self) -> list[str]:
        return [message for each in self.found.values() for message in each]


def setting_name(argument: str) -> str:
    """What an argument is called as a setting."""
    return argument.replace("_", ".")


def argument_named(make: Callable[..., object], setting: str) -> str | None:
    """The argument that a setting stands for; None if there is none of that name."""
    known = _parameters(make)
    for name in (setting, setting.replace(".", "_")):
        if name in known:
            return name
    return None


def takes_options(make: Callable[..., object]) -> bool:
    """Whether it has options beyond its arguments, whose names it checks itself."""
    parameters = inspect.signature(make).parameters.values()
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)


def settings_of(make: Callable[..., object], group: str, prefix: str = "") -> list[Setting]:
    """The settings that a function has arguments for."""
    hints = get_type_hints(make)
    documented = _documentation(make)
    found = []
    for name, each in _parameters(make).items():
        required = each.default is inspect.Parameter.empty
        found.append(
            Setting(
                prefix + setting_name(name),
                _type_of(name, hints.get(name)),
                None if required else _text(each.default),
                documented.get(name, ""),
                required,
                group,
                "HIGH" if required else "MEDIUM",
            )
        )
    return found


def made(
    make: Callable[..., Any], given: Mapping[str, str], errors: ConfigErrors, prefix: str = ""
) -> Any | None:
    """What the function makes of settings; None if they are wrong, which is added to `errors`."""
    before = len(errors.messages())
    arguments: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for name, text in given.items():
        argument = argument_named(make, name)
        first = spelled.setdefault(argument or name, name)
        if first != name:
            errors.add(
                prefix + name, f"{prefix}{first} and {prefix}{name} are the same; set one of them"
            )
        if argument is None and not takes_options(make):
            errors.add(prefix + name, _unknown(make, name, prefix))
            continue
        try:
            arguments |= argument_values(make, {argument or name: text})
        except InvalidArgument as error:
            errors.add(prefix + name, str(error))
    for name, each in _parameters(make).items():
        if each.default is inspect.Parameter.empty and name not in arguments:
            setting = prefix + setting_name(name)
            errors.add(setting, f"Missing required setting {setting!r}, which has no default value")
    if len(errors.messages()) > before:
        return None
    try:
        return make(**arguments)
    except (InvalidArgument, ImportError) as error:  # the latter names an extra to install
        errors.add(_blamed(str(error), given, prefix), str(error))
        return None


def _parameters(make: Callable[..., object]) -> dict[str, inspect.Parameter]:
    return {
        name: each
        for name, each in inspect.signature(make).parameters.items()
        if each.kind is not inspect.Parameter.VAR_KEYWORD and name not in _NOT_A_TEXT
    }


def _unknown(make: Callable[..., object], name: str, prefix: str) -> str:
    known = [setting_name(each) for each in _parameters(make)]
    like = get_close_matches(name, known, 1, _LIKENESS)
    advice = f"did you mean {prefix}{like[0]}?" if like else f"there are {', '.join(known)}"
    return f"unknown setting {prefix + name!r}; {advice}"


def _blamed(message: str, given: Mapping[str, str], prefix: str) -> str:
    """The setting that an error is about: the first that it names, or the class if none."""
    places: dict[str, int] = {}
    for name in given:
        for spelled in (name, name.replace(".", "_"), given[name]):
            found = re.search(rf"(?<![\w.]){re.escape(spelled)}(?![\w.])", message)
            if spelled and found is not None:
                places[name] = min(found.start(), places.get(name, len(message)))
    if places:
        return prefix + min(places, key=lambda name: places[name])
    return prefix + "class" if prefix else "connector.class"


def named_in(message: str, otherwise: str = "connector.class") -> str:
    """The setting that a message complains of, which it quotes or begins with."""
    found = re.match(r"Missing required setting '([^']+)'|([\w.-]+)(?::|=| ')", message)
    return otherwise if found is None else found[1] or found[2]


def _type_of(name: str, annotation: object) -> SettingType:
    if is_secret(name):
        return "PASSWORD"
    kinds = get_args(annotation) or (annotation,)
    if any(get_origin(each) is Sequence for each in (annotation, *kinds)):
        return "LIST"
    if bool in kinds:
        return "BOOLEAN"
    return "INT" if int in kinds else "STRING"


def _text(default: object) -> str | None:
    if default is None:
        return None
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str | int | float):
        return str(default)
    return ",".join(map(str, default)) if isinstance(default, Sequence) else None


def _documentation(make: Callable[..., object]) -> dict[str, str]:
    """What the docstring's list says of each argument."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in (inspect.getdoc(make) or "").splitlines():
        item = _ITEM.match(line)
        if item is not None:
            names = [each.strip(" `") for each in item[1].split(",")]
            found |= dict.fromkeys(names, item[2])
        elif names and line.startswith("  "):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        else:
            names = []
    return found
