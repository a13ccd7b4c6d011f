"""A broker's settings: parsed once, typed, some of them changeable while it runs."""

from collections.abc import Mapping, Sequence
from functools import cache

from barnabas.broker.settings.aliases import with_aliases
from barnabas.broker.settings.component_settings import (
    AuthorizerSettings,
    CleanerSettings,
    ConnectionSettings,
    ConsumerGroupSettings,
    FetchSettings,
    GroupSettings,
    MembershipSettings,
    MonitoringSettings,
    NodeSettings,
    QuotaSettings,
    ReplicaSettings,
    ScrubberSettings,
    ShareSettings,
    TokenSettings,
    TopicCreationSettings,
    TransactionSettings,
    UpkeepSettings,
    read_settings,
)
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.broker.settings.group_limits import check_consumer_groups
from barnabas.broker.settings.listener_overrides import ListenerOverrides
from barnabas.broker.settings.named_listeners import BOOTSTRAP, read_listeners
from barnabas.broker.settings.super_users import super_users
from barnabas.broker.settings.time_units import in_milliseconds
from barnabas.broker.settings.topic_settings import TopicSettings, read_topic_settings
from barnabas.broker.settings.without_effect import BROKER_CONFIGS_WITHOUT_EFFECT
from barnabas.controller.configs import BrokerSettings
from barnabas.metadata.config_values import ConfigValue, InvalidConfigError, did_you_mean
from barnabas.metadata.refused_settings import refused_group, why_refused

_CLIENT_AUTH = "ssl.client.auth"
_WITHOUT_EFFECT = frozenset(config.name for config in BROKER_CONFIGS_WITHOUT_EFFECT)


class ConfigError(ValueError):
    """Settings a broker can't start with; the message names the fix."""

    def __init__(self, message: str, without_effect: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.without_effect = without_effect or {}
        """What else was set although it has no effect."""


class BrokerConfig:
    """What the config file, the environment and the command line say, over the defaults."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.without_effect: dict[str, str] = {}
        """What was set although it has no effect here, and why not."""
        try:
            properties = with_aliases(in_milliseconds(properties))
        except InvalidConfigError as error:
            raise ConfigError(str(error)) from None
        wrong: list[str] = []
        refused: list[str] = []
        for name, text in properties.items():
            if name == BOOTSTRAP or ListenerOverrides.is_one(name):
                continue
            config = BROKER_CONFIGS.get(name)
            if config is None:
                refused.append(name)
                continue
            try:
                config.parse(text)
            except InvalidConfigError as error:
                wrong.append(str(error))
                continue
            why = config.without_effect
            if why is not None and (text != config.default or name in _WITHOUT_EFFECT):
                self.without_effect[name] = why
        if wrong or refused:
            count = len(wrong) + len(refused)
            raise ConfigError(together(wrong + _refusals(refused), count), self.without_effect)
        self.static = {name: properties[name] for name in properties if name in BROKER_CONFIGS}
        try:
            self._of_listeners = {
                name: text for name, text in properties.items() if ListenerOverrides.is_one(name)
            }
            self.set_dynamic({})
            super_users(self.authorizer.super_users)
            self.listeners, left_out = read_listeners(self.node, properties)
            left_out |= self._overrides.check([each.name for each in self.listeners], properties)
        except InvalidConfigError as error:
            raise ConfigError(str(error), self.without_effect) from None
        self.without_effect |= left_out
        self._signing_in = {each.name for each in self.listeners if each.protocol.has_sasl}
        """As in Kafka, clients that sign in need no certificate, unless their listener says so."""
        self.settings = BrokerSettings(
            self.node.node_id, BROKER_CONFIGS, self.static | self._of_listeners
        )

    def set_dynamic(self, changed: Mapping[str, str]) -> None:
        """Take over what was changed while running; everything else is as at the start."""
        self._overrides = ListenerOverrides({**self._of_listeners, **changed}, BROKER_CONFIGS)
        values = dict(_default_values())
        for name, text in (*self.static.items(), *changed.items()):
            if name in BROKER_CONFIGS:
                values[name] = BROKER_CONFIGS[name].parse(text)
        self._values = values
        self.node = read_settings(NodeSettings, values)
        self.authorizer = read_settings(AuthorizerSettings, values)
        self.tokens = read_settings(TokenSettings, values)
        self.connections = read_settings(ConnectionSettings, values)
        self.quotas = read_settings(QuotaSettings, values)
        self.fetch = read_settings(FetchSettings, values)
        self.replicas = read_settings(ReplicaSettings, values)
        self.cleaner = read_settings(CleanerSettings, values)
        self.scrubber = read_settings(ScrubberSettings, values)
        self.upkeep = read_settings(UpkeepSettings, values)
        self.groups = read_settings(GroupSettings, values)
        self.consumer_groups = read_settings(ConsumerGroupSettings, values)
        check_consumer_groups(self.consumer_groups)
        self.transactions = read_settings(TransactionSettings, values)
        self.shares = read_settings(ShareSettings, values)
        self.topic_creation = read_settings(TopicCreationSettings, values)
        self.membership = read_settings(MembershipSettings, values)
        self.monitoring = read_settings(MonitoringSettings, values)

    def listener_values(self, name: str) -> Mapping[str, ConfigValue]:
        """All settings as they are for one listener: `listener.name.NAME.SETTING` before
        `SETTING`."""
        own = self._overrides.of(name)
        if name in self._signing_in and _CLIENT_AUTH not in own:
            own = {**own, _CLIENT_AUTH: BROKER_CONFIGS[_CLIENT_AUTH].default}
        return {**self._values, **own}

    def topic(self, configs: Mapping[str, str]) -> TopicSettings:
        """The settings of a topic: its own, or the broker's defaults for them."""
        return read_topic_settings(configs, self._values)


@cache
def _default_values() -> Mapping[str, ConfigValue]:
    return {name: config.parse(config.default) for name, config in BROKER_CONFIGS.items()}


def _refusals(names: Sequence[str]) -> list[str]:
    """One for all settings that are refused for the same reason, and for each that is unknown."""
    alike: dict[object, list[str]] = {}
    for name in names:
        alike.setdefault(refused_group(name) or name, []).append(name)
    return [
        why_refused(*each)
        or f"there is no setting {each[0]!r}{did_you_mean(each[0], BROKER_CONFIGS)}"
        for each in alike.values()
    ]


def together(wrong: Sequence[str], count: int | None = None) -> str:
    """One message for all settings that are wrong, of which some may share a line."""
    if len(wrong) == 1:
        return wrong[0]
    return "\n  ".join((f"{count or len(wrong)} settings can't be used:", *wrong))
