"""The settings of sign-ins."""

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any, cast

from barnabas.broker.net.listener import Listener
from barnabas.broker.net.sign_in.sign_ins import SignIns
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.settings.config import BrokerConfig
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.metadata.config_values import ConfigValue
from barnabas.metadata.image import MetadataImage
from barnabas.wire.endpoint import SecurityProtocol


def test_settings_are_read_once_until_they_change() -> None:
    max_bytes = 1000
    reads = 0

    def values() -> Mapping[str, ConfigValue]:
        nonlocal reads
        reads += 1
        defaults = {name: config.parse(config.default) for name, config in BROKER_CONFIGS.items()}
        return {
            **defaults,
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "sasl.server.max.receive.size": max_bytes,
        }

    loop = asyncio.new_event_loop()
    config, image = BrokerConfig({}), MetadataImage()
    sign_ins = SignIns(loop, Random(1), config, image, cast("Any", None), Clock())
    listener = Listener("CLIENTS", SecurityProtocol.SASL_PLAINTEXT, values)
    assert [sign_ins.new(listener).max_request_bytes for _ in range(3)] == [1000] * 3
    assert reads == 1
    max_bytes = 2000
    sign_ins.reconfigure()
    assert [sign_ins.new(listener).max_request_bytes for _ in range(3)] == [2000] * 3
    assert reads == 2
    loop.close()
