"""Settings: what text is a value, and what the refusal of the others says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.metadata.config_values import (
    ConfigDef,
    ConfigType,
    ConfigValue,
    InvalidConfigError,
)
from barnabas.metadata.topic_configs import TOPIC_CONFIGS

NUMBER = ConfigDef("n", ConfigType.INT, "5", "", low=1, high=10)
FLAG = ConfigDef("f", ConfigType.BOOLEAN, "true", "")
LIST = ConfigDef("l", ConfigType.LIST, "a", "", choices=("a", "b"))
CHOICE = ConfigDef("c", ConfigType.STRING, "x", "", choices=("x", "y"))
OPTIONAL = ConfigDef("o", ConfigType.STRING, None, "")


@pytest.mark.parametrize(
    ("config", "text", "value"),
    [
        (NUMBER, "1", 1),
        (NUMBER, "10", 10),
        (NUMBER, " 7 ", 7),
        (FLAG, "true", True),
        (FLAG, "FALSE", False),
        (LIST, "a,b", "a,b"),
        (LIST, " b , a ", "b,a"),
        (CHOICE, "y", "y"),
        (OPTIONAL, None, None),
        (OPTIONAL, "", ""),
    ],
)
def test_values(config: ConfigDef, text: str | None, value: ConfigValue) -> None:
    assert config.parse(text) == value


@pytest.mark.parametrize(
    ("config", "text", "hint"),
    [
        (NUMBER, "0", "at least 1"),
        (NUMBER, "11", "at most 10"),
        (NUMBER, "", "whole number"),
        (NUMBER, "1.5", "whole number"),
        (NUMBER, "1_0", "whole number"),
        (NUMBER, "٣", "whole number"),
        (NUMBER, str(2**31), "between"),
        (NUMBER, "9" * 5000, "whole number"),
        (NUMBER, None, "needs a value"),
        (FLAG, "yes", "true or false"),
        (LIST, "a,c", "one of a, b"),
        (LIST, " , ", "one or more of a, b"),
        (CHOICE, "X", "one of x, y"),
        (CHOICE, None, "needs a value"),
    ],
)
def test_refusals_name_the_setting_and_what_is_allowed(
    config: ConfigDef, text: str | None, hint: str
) -> None:
    with pytest.raises(InvalidConfigError) as refused:
        config.parse(text)
    assert hint in str(refused.value)
    assert str(refused.value).startswith(f"{config.name} ")


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long(number: int) -> None:
    assert ConfigDef("n", ConfigType.LONG, "0", "").parse(str(number)) == number


@settings(deadline=None)
@given(st.sampled_from([NUMBER, FLAG, LIST, CHOICE]), st.text())
def test_any_text_is_a_value_or_refused(config: ConfigDef, text: str) -> None:
    try:
        value = config.parse(text)
    except InvalidConfigError:
        return
    assert config.parse(str(value).lower() if config is FLAG else str(value)) == value


# -- the tables ------------------------------------------------------------------------------------

TABLES = [*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()]


def test_every_default_is_valid() -> None:
    for config in TABLES:
        assert config.doc, config.name
        value = config.parse(config.default)  # whose refusal names the setting
        assert (value is None) == (config.default is None), config.name


def test_every_topic_setting_has_its_default_at_the_broker() -> None:
    for config in TOPIC_CONFIGS.values():
        if config.synonym is None:
            # Those of replicas name partitions of the topic: no default fits several topics.
            assert config.without_effect or config.name.endswith(".throttled.replicas"), config
            continue
        of_broker = BROKER_CONFIGS[config.synonym]
        assert of_broker.dynamic, config.name
        assert meaning(of_broker) == meaning(config), config.name


def meaning(config: ConfigDef) -> tuple[object, ...]:
    return config.default, config.type, config.low, config.high, config.choices


def test_synonyms_are_distinct() -> None:
    synonyms = [config.synonym for config in TOPIC_CONFIGS.values() if config.synonym is not None]
    assert len(set(synonyms)) == len(synonyms)
