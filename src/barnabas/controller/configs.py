"""Describing and changing the settings of topics, brokers and groups."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.controller.decision import Decision, Refusal
from barnabas.metadata.client_metrics_configs import CLIENT_METRICS_CONFIGS, MATCH
from barnabas.metadata.config_values import (
    LISTENER_PREFIX,
    ConfigDef,
    ConfigType,
    ConfigValue,
    InvalidConfigError,
    did_you_mean,
)
from barnabas.metadata.group_configs import GROUP_CONFIGS, bounds_of
from barnabas.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from barnabas.metadata.records import MetadataRecord
from barnabas.metadata.refused_settings import ONLY_AT_THE_START, refused_group, why_refused
from barnabas.metadata.topic_configs import TOPIC_CONFIGS, own_defaults
from barnabas.regex import InvalidPattern, LinearPattern
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata_records import ConfigRecord
from barnabas.wire.primitives import MAX_STRING_BYTES

SOURCE_TOPIC = 1
SOURCE_DYNAMIC_BROKER = 2
SOURCE_DYNAMIC_DEFAULT_BROKER = 3
SOURCE_STATIC_BROKER = 4
SOURCE_DEFAULT = 5
SOURCE_BROKER_LOGGER = 6
SOURCE_CLIENT_METRICS = 7
SOURCE_GROUP = 8

LOGGER_RESOURCE = 8
"""The loggers of brokers; their levels are not in the metadata."""

OPERATION_SET = 0
OPERATION_DELETE = 1
OPERATION_APPEND = 2
OPERATION_SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Synonym:
    """One of the places a value may come from."""

    name: str
    value: str | None
    source: int


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """One setting as it is in force."""

    config: ConfigDef
    read_only: bool
    value: str | None
    source: int
    synonyms: list[Synonym]
    """Where the value is set, the one in force first; the last is the built-in default, if the
    setting that it belongs to has one in Kafka."""

    @property
    def name(self) -> str:
        return self.config.name


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """A broker's settings: what can be set, what its file and command line say."""

    node_id: int
    table: Mapping[str, ConfigDef]
    static: Mapping[str, str]

    def synonyms(self, image: MetadataImage, name: str) -> list[Synonym]:
        """Where the broker's setting `name` is set."""
        found: list[Synonym] = []
        for resource, source in (
            (str(self.node_id), SOURCE_DYNAMIC_BROKER),
            ("", SOURCE_DYNAMIC_DEFAULT_BROKER),
        ):
            values = image.configs.get((BROKER_RESOURCE, resource), {})
            if name in values:
                found.append(Synonym(name, values[name], source))
        if name in self.static:
            found.append(Synonym(name, self.static[name], SOURCE_STATIC_BROKER))
        if not name.startswith(LISTENER_PREFIX):
            found.append(Synonym(name, self.table[name].default, SOURCE_DEFAULT))
        return found

    def of_listeners(self, image: MetadataImage) -> list[ConfigDef]:
        """The settings of single listeners that are set."""
        names = {*self.static, *image.configs.get((BROKER_RESOURCE, str(self.node_id)), {})}
        found = (of_listener(self.table, name) for name in sorted(names))
        return [config for config in found if config is not None]

    def value(self, image: MetadataImage, name: str) -> ConfigValue:
        """What is in force for the broker's setting `name`."""
        return self.table[name].parse(self.synonyms(image, name)[0].value)


def of_listener(table: Mapping[str, ConfigDef], name: str) -> ConfigDef | None:
    """The setting behind `listener.name.NAME.SETTING`; None if a listener has no such setting."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    config = table.get(name.removeprefix(LISTENER_PREFIX).partition(".")[2])
    return None if config is None or not config.per_listener else config.of_listener(name)


class TopicDefaults:
    """The default of every topic setting, as the broker's settings give it now."""

    def __init__(self, image: MetadataImage, broker: BrokerSettings) -> None:
        self._image = image
        self._broker = broker

    def synonyms(self, config: ConfigDef) -> list[Synonym]:
        if config.synonym is None:
            return [Synonym(config.name, config.default, SOURCE_DEFAULT)]
        return self._broker.synonyms(self._image, config.synonym)


def check_topic_config(name: str, value: str | None) -> str:
    """The value to keep, or a `Refusal` that names what is allowed."""
    config = TOPIC_CONFIGS.get(name)
    if config is None:
        raise _unknown(TOPIC_RESOURCE, name, TOPIC_CONFIGS)
    return _checked(config, value)


def _checked(config: ConfigDef, value: str | None) -> str:
    if value is None:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"{config.name} needs a value")
    size = len(value.encode())
    if size > MAX_STRING_BYTES:  # no answer could carry it; what is appended adds up
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"{config.name} would have {size} bytes, at most {MAX_STRING_BYTES} are allowed",
        )
    try:
        config.parse(value)
    except InvalidConfigError as error:
        raise Refusal(ErrorCode.INVALID_CONFIG, str(error)) from None
    return value


def described_configs(
    topic: str, configs: Mapping[str, str], defaults: TopicDefaults
) -> Iterable[DescribedConfig]:
    """Every setting of a topic for which `configs` were set."""
    own_default = own_defaults(topic, configs)
    for config in TOPIC_CONFIGS.values():
        own = (
            [Synonym(config.name, configs[config.name], SOURCE_TOPIC)]
            if config.name in configs
            else []
        )
        if config.name in own_default:
            own = [Synonym(config.name, own_default[config.name], SOURCE_DEFAULT)]
        chain = own + defaults.synonyms(config)
        shown = chain
        if not config.default_has_synonym:
            shown = [each for each in chain if each.source != SOURCE_DEFAULT]
        yield DescribedConfig(config, False, chain[0].value, chain[0].source, shown)


def described_broker_configs(
    image: MetadataImage, broker: BrokerSettings
) -> Iterable[DescribedConfig]:
    """Every setting of a broker."""
    for config in (*broker.table.values(), *broker.of_listeners(image)):
        chain = broker.synonyms(image, config.name)
        yield DescribedConfig(config, not config.dynamic, chain[0].value, chain[0].source, chain)


def described_group_configs(
    image: MetadataImage, broker: BrokerSettings, group_id: str
) -> Iterable[DescribedConfig]:
    """Every setting of a group, whether it exists or not."""
    own = image.group_configs(group_id)
    for config in GROUP_CONFIGS.values():
        chain = [Synonym(config.name, own[config.name], SOURCE_GROUP)] if config.name in own else []
        chain += _group_defaults(image, broker, config)
        yield DescribedConfig(config, False, chain[0].value, chain[0].source, chain)


def described_client_metrics(image: MetadataImage, name: str) -> Iterable[DescribedConfig]:
    """Every setting of a subscription to client metrics, whether it exists or not."""
    own = image.configs.get((CLIENT_METRICS_RESOURCE, name), {})
    for config in CLIENT_METRICS_CONFIGS.values():
        chain = [Synonym(config.name, config.default, SOURCE_DEFAULT)]
        if config.name in own:
            chain.insert(0, Synonym(config.name, own[config.name], SOURCE_CLIENT_METRICS))
        yield DescribedConfig(config, False, chain[0].value, chain[0].source, chain)


def _check_match(value: str | None) -> None:
    """Refuse patterns that can't be read."""
    for item in _items(value):
        name, _, pattern = item.partition("=")
        try:
            LinearPattern(pattern)
        except InvalidPattern as error:
            raise Refusal(ErrorCode.INVALID_CONFIG, f"match: {name}: {error}") from None


def _group_defaults(
    image: MetadataImage, broker: BrokerSettings, config: ConfigDef
) -> list[Synonym]:
    if config.synonym is None:
        return [Synonym(config.name, config.default, SOURCE_DEFAULT)]
    return broker.synonyms(image, config.synonym)


def _check_bounds(
    image: MetadataImage, broker: BrokerSettings, config: ConfigDef, text: str | None
) -> None:
    """Refuse a group's value that the broker's settings do not allow."""
    bounds = bounds_of(config)
    if text is None or bounds is None:
        return
    value = config.parse(text)
    low, high = (broker.value(image, name) for name in bounds)
    assert isinstance(value, int)
    assert isinstance(low, int)
    assert isinstance(high, int)
    if not low <= value <= high:
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"{config.name} must be between {low} ({bounds[0]}) and {high} ({bounds[1]}), "
            f"not {value}",
        )


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One change of a request; AlterConfigs has only OPERATION_SET."""

    name: str
    operation: int
    value: str | None


def alter_configs(
    image: MetadataImage,
    broker: BrokerSettings,
    resource_type: int,
    resource_name: str,
    changes: list[ConfigChange],
    *,
    replace: bool,
) -> Decision[None]:
    """Change one topic's, broker's or group's settings.

    `replace` is the old AlterConfigs, which also takes back every setting it does not name.
    """
    table = _table(image, broker, resource_type, resource_name)
    current = image.configs.get((resource_type, resource_name), {})
    names = [change.name for change in changes]
    if len(set(names)) < len(names):
        raise Refusal(ErrorCode.INVALID_REQUEST, "a setting is in the request twice")
    wanted: dict[str, str | None] = dict.fromkeys(current) if replace else {}
    for change in changes:
        config = table.get(change.name)
        if config is None and resource_type == BROKER_RESOURCE:
            config = of_listener(table, change.name)
        if config is None:
            if resource_type == TOPIC_RESOURCE and change.operation == OPERATION_DELETE:
                continue  # mirrors take back what the other cluster's topics do not set
            raise _unknown(resource_type, change.name, table)
        if resource_type == BROKER_RESOURCE and not config.dynamic:
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                f"{change.name} can't be changed while the broker runs: set it in the "
                "broker's config file and restart",
            )
        if config.per_listener and not resource_name:
            raise Refusal(
                ErrorCode.INVALID_REQUEST,
                f"{change.name} can't be changed for all brokers at once: name a broker",
            )
        in_force = current.get(change.name)
        if in_force is None:
            in_force = _inherited(image, broker, resource_type, config)
        wanted[change.name] = _changed(config, change, in_force)
        if config.name == MATCH and resource_type == CLIENT_METRICS_RESOURCE:
            _check_match(wanted[change.name])
        if resource_type == GROUP_RESOURCE:
            _check_bounds(image, broker, config, wanted[change.name])
    records: list[MetadataRecord] = [
        ConfigRecord(resource_type, resource_name, name, value)
        for name, value in wanted.items()
        if value != current.get(name)
    ]
    return Decision(records, None)


def _table(
    image: MetadataImage, broker: BrokerSettings, resource_type: int, resource_name: str
) -> Mapping[str, ConfigDef]:
    if resource_type == TOPIC_RESOURCE:
        if resource_name not in image.topics:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"unknown topic {resource_name!r}")
        return TOPIC_CONFIGS
    if resource_type == BROKER_RESOURCE:
        if resource_name not in ("", str(broker.node_id), *map(str, image.brokers)):
            raise Refusal(ErrorCode.INVALID_REQUEST, f"unknown broker {resource_name!r}")
        return broker.table
    if resource_type == GROUP_RESOURCE:
        if not resource_name:
            raise Refusal(ErrorCode.INVALID_REQUEST, "the name of the group is empty")
        return GROUP_CONFIGS
    if resource_type == CLIENT_METRICS_RESOURCE:
        if not resource_name:
            raise Refusal(ErrorCode.INVALID_REQUEST, "the name of the subscription is empty")
        return CLIENT_METRICS_CONFIGS
    raise Refusal(ErrorCode.INVALID_REQUEST, f"resources of type {resource_type} have no settings")


def _unknown(resource_type: int, name: str, table: Mapping[str, ConfigDef]) -> Refusal:
    hint = did_you_mean(name, table)
    if resource_type == TOPIC_RESOURCE:
        # Kafka's words come first: programs match on them.
        return Refusal(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}{hint}")
    if resource_type == CLIENT_METRICS_RESOURCE:
        return Refusal(
            ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}{hint}"
        )
    if resource_type == BROKER_RESOURCE:
        if name in ONLY_AT_THE_START:
            newer = ONLY_AT_THE_START[name]
            use = f"; it stands for {newer}" if newer else ""
            return Refusal(
                ErrorCode.INVALID_REQUEST,
                f"{name} can't be changed while the broker runs{use}",
            )
        if refused_group(name) is not None:
            return Refusal(ErrorCode.INVALID_CONFIG, why_refused(name) or "")
    return Refusal(ErrorCode.INVALID_CONFIG, f"unknown setting {name!r}{hint}")


def _inherited(
    image: MetadataImage, broker: BrokerSettings, resource_type: int, config: ConfigDef
) -> str | None:
    """What is in force where the resource itself sets nothing."""
    if resource_type == TOPIC_RESOURCE:
        return TopicDefaults(image, broker).synonyms(config)[0].value
    if resource_type == GROUP_RESOURCE:
        return _group_defaults(image, broker, config)[0].value
    if resource_type == CLIENT_METRICS_RESOURCE:
        return config.default
    chain = broker.synonyms(image, config.name)
    return chain[0].value if chain else None


def _changed(config: ConfigDef, change: ConfigChange, in_force: str | None) -> str | None:
    """The new value, None to remove it; APPEND and SUBTRACT change the value in force."""
    if change.operation == OPERATION_SET:
        return _checked(config, change.value)
    if change.operation == OPERATION_DELETE:
        return None
    if change.operation not in (OPERATION_APPEND, OPERATION_SUBTRACT):
        raise Refusal(ErrorCode.INVALID_REQUEST, f"unknown config operation {change.operation}")
    if config.type is not ConfigType.LIST:
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            f"{config.name} is not a list: can't append or subtract",
        )
    items = _items(in_force)
    given = _items(change.value)
    if change.operation == OPERATION_APPEND:
        present = frozenset(items)
        items += [item for item in given if item not in present]
    else:
        removed = frozenset(given)
        items = [item for item in items if item not in removed]
    return _checked(config, ",".join(items))


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]
