"""Writes the tables in docs/ that follow from the code; `--check` only compares.

A table stands between `<!-- NAME: written by make docs -->` and `<!-- end -->`.
"""

import re
import sys
from collections.abc import Callable, Iterable
from inspect import getmodule
from pathlib import Path

from barnabas import errors
from barnabas.broker.monitoring.registry import SECTIONS
from barnabas.broker.routes import routes
from barnabas.broker.settings.definitions import BROKER_CONFIGS
from barnabas.broker.settings.without_effect import BROKER_CONFIGS_WITHOUT_EFFECT
from barnabas.client.metrics.client_metrics import ClientMetric
from barnabas.client.metrics.definitions import definitions
from barnabas.metadata.config_values import ConfigDef, ConfigType
from barnabas.metadata.refused_settings import OLDER_SETTINGS, REFUSED_SETTINGS, RefusedSettings
from barnabas.metadata.topic_configs import LONG_MAX, TOPIC_CONFIGS

DOCS = Path(__file__).resolve().parent.parent / "docs"
_BLOCK = re.compile(r"(<!-- ([a-z-]+): written by make docs -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    check = "--check" in sys.argv[1:]
    stale = []
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text()
        wanted = _BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], text)
        if wanted != text:
            stale.append(path.name)
            if not check:
                path.write_text(wanted)
    if check and stale:
        raise SystemExit(f"run `make docs`: {', '.join(stale)} differ from the code")
    print("the tables in docs/ match the code" if check else f"{len(stale)} files written")


def broker_settings() -> str:
    """Settings of a broker, but for those that are defaults of topics or have no effect."""
    elsewhere = {config.synonym for config in TOPIC_CONFIGS.values()}
    elsewhere |= {config.name for config in BROKER_CONFIGS_WITHOUT_EFFECT}
    own = [config for config in BROKER_CONFIGS.values() if config.name not in elsewhere]
    return _table(
        ("Setting", "Default", "Valid", "Changeable", "Meaning"),
        [
            (
                f"`{config.name}`",
                _default(config),
                _valid(config),
                "while running" if config.dynamic else "at the start",
                config.doc,
            )
            for config in own
        ],
    )


def topic_settings() -> str:
    """Settings of a topic, each with the broker's setting that gives its default."""
    return _table(
        ("Setting", "Default", "Valid", "The broker's default", "Meaning"),
        [
            (
                f"`{config.name}`",
                _default(config),
                _valid(config),
                f"`{config.synonym}`" if config.synonym else "-",
                config.doc,
            )
            for config in TOPIC_CONFIGS.values()
        ],
    )


def settings_without_effect() -> str:
    """Kafka's settings of a broker that mean nothing here, by reason."""
    by_reason: dict[str, list[str]] = {}
    for config in BROKER_CONFIGS_WITHOUT_EFFECT:
        assert config.without_effect is not None
        by_reason.setdefault(config.without_effect, []).append(f"`{config.name}`")
    return _table(
        ("Settings", "Why they have no effect"),
        [(", ".join(names), why) for why, names in by_reason.items()],
    )


def refused_settings() -> str:
    """Kafka's settings of a broker that are refused whatever their value."""
    return _refused(REFUSED_SETTINGS)


def older_settings() -> str:
    """The same, of settings that Kafka has had before."""
    return _refused(OLDER_SETTINGS)


def _refused(groups: Iterable[RefusedSettings]) -> str:
    return _table(
        ("Settings", "Why", "Instead"),
        [
            (
                ", ".join(
                    f"`{name}*`" if name.endswith(".") else f"`{name}`" for name in group.names
                ),
                group.why,
                group.instead,
            )
            for group in groups
        ],
    )


def apis() -> str:
    """What the route table has."""
    return _table(
        ("API", "Key", "Versions", "Handler"),
        [
            (
                route.request_type.__name__.removesuffix("Request"),
                str(route.api_key),
                _range(route.min_version, route.max_version),
                f"`{_handler(route.handle)}`",
            )
            for route in sorted(routes(), key=lambda route: route.api_key)
        ],
    )


def exceptions() -> str:
    """The tree of exceptions, each after what it is a kind of."""
    rows: list[tuple[str, ...]] = []

    def add(kind: type[errors.BarnabasError]) -> None:
        meaning = " ".join((kind.__doc__ or "").partition("\n\n")[0].split())
        bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
        rows.append((f"`{kind.__name__}`", bases, meaning))
        for each in sorted(kind.__subclasses__(), key=lambda each: each.__name__):
            if each.__bases__[0] is kind:
                add(each)

    add(errors.BarnabasError)
    return _table(("Exception", "A kind of", "Meaning"), rows)


def metrics() -> str:
    """All metrics of a node, by what they are about."""
    return "\n".join(
        f"### {title}\n\n"
        + _table(
            ("Metric", "Type", "Labels", "Meaning", "Wake somebody"),
            [
                (
                    f"`{metric.name}`",
                    metric.kind,
                    ", ".join(f"`{label}`" for label in metric.labels) or "-",
                    metric.meaning,
                    metric.alarm or "-",
                )
                for metric in section
            ],
        )
        for title, section in SECTIONS.items()
    )


def client_metrics() -> str:
    """The metrics of our clients, by Kafka's groups."""
    groups: dict[str, list[ClientMetric]] = {}
    for each in definitions():
        groups.setdefault(each.group, []).append(each)
    return "\n".join(
        f"`{group}`:\n\n"
        + _table(("Metric", "Meaning"), [(f"`{each.name}`", each.meaning) for each in section])
        for group, section in sorted(groups.items(), reverse=True)
    )


TABLES: dict[str, Callable[[], str]] = {
    "client-metrics": client_metrics,
    "broker-settings": broker_settings,
    "topic-settings": topic_settings,
    "settings-without-effect": settings_without_effect,
    "refused-settings": refused_settings,
    "older-settings": older_settings,
    "apis": apis,
    "exceptions": exceptions,
    "metrics": metrics,
}


def _handler(handle: Callable[..., object]) -> str:
    module = getmodule(handle)
    assert module is not None
    return module.__name__.removeprefix("barnabas.broker.").replace(".", "/") + ".py"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _default(config: ConfigDef) -> str:
    if config.default is None:
        return "-"
    return "never" if config.default == str(LONG_MAX) else f"`{config.default}`"


def _valid(config: ConfigDef) -> str:
    if config.choices:
        return ", ".join(f"`{choice}`" if choice else "empty" for choice in config.choices)
    if config.type is ConfigType.BOOLEAN:
        return "`true`, `false`"
    if config.low is not None and config.high is not None:
        return f"{config.low} to {config.high}"
    if config.low is not None:
        return f"at least {config.low}"
    return "text" if config.type is ConfigType.STRING else config.type.name.lower()


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main()
