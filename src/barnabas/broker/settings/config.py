"""A broker's settings: parsed once, typed, some of them changeable while it runs."""

from collections.abc import Mapping

from barnabas.broker.settings.aliases import with_aliases
from barnabas.broker.settings.component_settings import (
    CleanerSettings,
    ConnectionSettings,
    FetchSettings,
    GroupSettings,
    MembershipSettings,
    NodeSettings,
    ReplicaSettings,
    ScrubberSettings,
    TopicCreationSettings,
    TransactionSettings,
    UpkeepSettings,
    read_settings,
)
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.broker.settings.named_listeners import with_one_listener
from barnabas.broker.settings.time_units import in_milliseconds
from barnabas.broker.settings.topic_settings import TopicSettings, read_topic_settings
from barnabas.broker.settings.without_effect import is_about_security, why_without_effect
from barnabas.controller.configs import BrokerSettings
from barnabas.metadata.config_values import ConfigValue, InvalidConfigError, did_you_mean


class ConfigError(ValueError):
    """Settings a broker can't start with; the message names the fix."""


class BrokerConfig:
    """What the config file, the environment and the command line say, over the defaults."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.without_effect: dict[str, str] = {}
        """What was set although it has no effect here, and why not."""
        try:
            properties = with_aliases(in_milliseconds(properties))
            properties, left_out = with_one_listener(properties)
        except InvalidConfigError as error:
            raise ConfigError(str(error)) from None
        for name, text in properties.items():
            why = why_without_effect(name)
            if why is not None:
                self.without_effect[name] = why
                continue
            if name not in BROKER_CONFIGS:
                raise ConfigError(_refusal(name))
            try:
                BROKER_CONFIGS[name].parse(text)
            except InvalidConfigError as error:
                raise ConfigError(str(error)) from None
            why = BROKER_CONFIGS[name].without_effect
            if why is not None:
                self.without_effect[name] = why
        self.without_effect |= left_out
        self.static = {name: properties[name] for name in properties if name in BROKER_CONFIGS}
        self.set_dynamic({})
        self.settings = BrokerSettings(self.node.node_id, BROKER_CONFIGS, self.static)

    def set_dynamic(self, changed: Mapping[str, str]) -> None:
        """Take over what was changed while running; everything else is as at the start."""
        values: dict[str, ConfigValue] = {}
        for name, config in BROKER_CONFIGS.items():
            values[name] = config.parse(changed.get(name, self.static.get(name, config.default)))
        self._values = values
        self.node = read_settings(NodeSettings, values)
        self.connections = read_settings(ConnectionSettings, values)
        self.fetch = read_settings(FetchSettings, values)
        self.replicas = read_settings(ReplicaSettings, values)
        self.cleaner = read_settings(CleanerSettings, values)
        self.scrubber = read_settings(ScrubberSettings, values)
        self.upkeep = read_settings(UpkeepSettings, values)
        self.groups = read_settings(GroupSettings, values)
        self.transactions = read_settings(TransactionSettings, values)
        self.topic_creation = read_settings(TopicCreationSettings, values)
        self.membership = read_settings(MembershipSettings, values)

    def topic(self, configs: Mapping[str, str]) -> TopicSettings:
        """The settings of a topic: its own, or the broker's defaults for them."""
        return read_topic_settings(configs, self._values)


def _refusal(name: str) -> str:
    if is_about_security(name):
        return (
            f"{name} is not supported: connections are neither encrypted nor authenticated, and "
            "there are no ACLs; remove the setting, and run the broker in a network that you trust"
        )
    return f"there is no setting {name!r}{did_you_mean(name, BROKER_CONFIGS)}"
