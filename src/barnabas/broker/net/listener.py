"""What a listener asks of the connections that it accepts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from barnabas.broker.settings.component_settings import read_settings
from barnabas.broker.settings.config import BrokerConfig
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.metadata.config_values import ConfigValue
from barnabas.wire.endpoint import SecurityProtocol

SettingsT = TypeVar("SettingsT")


def _defaults() -> Mapping[str, ConfigValue]:
    return {name: config.parse(config.default) for name, config in BROKER_CONFIGS.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Listener:
    """A name, and how connections are encrypted and authenticated."""

    name: str
    protocol: SecurityProtocol
    values: Callable[[], Mapping[str, ConfigValue]] = _defaults
    """All settings as they are now for this listener."""

    def settings(self, kind: type[SettingsT]) -> SettingsT:
        """A dataclass of `component_settings`, as it is for this listener.

        `listener.name.NAME.SETTING` counts before `SETTING`, if the definition of the setting is
        marked `per_listener`. This reads all settings: call it when a connection is made or the
        settings change, not for each request.
        """
        return read_settings(kind, self.values())


def listeners_of(config: BrokerConfig) -> dict[str, Listener]:
    """The listeners of a node by name."""
    return {
        each.name: Listener(each.name, each.protocol, partial(config.listener_values, each.name))
        for each in config.listeners
    }


OPEN = Listener(SecurityProtocol.PLAINTEXT.name, SecurityProtocol.PLAINTEXT)
"""The listener of a node that sets none: everybody is anonymous."""
