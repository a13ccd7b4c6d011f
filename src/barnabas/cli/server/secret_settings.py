"""Secret settings of a node on their way to its process: in its environment, not in `ps`."""

import json
from collections.abc import Mapping, MutableMapping

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.metadata.config_values import ConfigType

_VARIABLE = "BARNABAS_SECRET_SETTINGS"
_PASSWORDS = tuple(
    config.name for config in BROKER_CONFIGS.values() if config.type is ConfigType.PASSWORD
)


def as_arguments(properties: Mapping[str, str]) -> list[str]:
    """The settings that everyone may see, as NAME=VALUE."""
    return [f"{name}={value}" for name, value in properties.items() if not _is_secret(name)]


def as_environment(properties: Mapping[str, str]) -> dict[str, str]:
    """The variable with the other settings, if there are any."""
    secrets = {name: value for name, value in properties.items() if _is_secret(name)}
    return {_VARIABLE: json.dumps(secrets)} if secrets else {}


def take_from(environment: MutableMapping[str, str]) -> list[str]:
    """The secret settings as NAME=VALUE. Processes that this one starts do not get them."""
    text = environment.pop(_VARIABLE, "{}")
    return [f"{name}={value}" for name, value in json.loads(text).items()]


def _is_secret(name: str) -> bool:
    """Also for one listener: `listener.name.NAME.SETTING`."""
    return name.endswith(_PASSWORDS)
