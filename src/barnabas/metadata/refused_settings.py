"""Kafka's broker settings that a node refuses, with the reason and what to use instead.

A node would not do what they promise, so it neither starts with them nor accepts them while it
runs. `make docs` writes them into the table of docs/compatibility.md; an error has the same words.
"""

import re
from dataclasses import dataclass

_SAFETY = "ignoring it would give a false sense of safety"
_JAVA = "Java classes are not loaded"


@dataclass(frozen=True, slots=True)
class RefusedSettings:
    """Settings that are refused for the same reason."""

    names: tuple[str, ...]
    """A name that ends with a dot is a prefix."""
    why: str
    instead: str
    """What to do, in Markdown; an error has it without the links."""
    is_about_security: bool = False


REFUSED_SETTINGS = (
    RefusedSettings(
        ("sasl.kerberos.", "sasl.login.", "sasl.client.", "sasl.server.callback.handler.class"),
        "there is no Kerberos, and Java classes are not loaded",
        "use [sign-in](authentication.md#sign-in-and-users) with PLAIN, SCRAM or OAUTHBEARER",
        is_about_security=True,
    ),
    RefusedSettings(
        ("sasl.jaas.config",),
        "users are in the metadata log",
        "create them with [`barnabas users`](authentication.md#sign-in-and-users)",
        is_about_security=True,
    ),
    RefusedSettings(
        (
            "sasl.oauthbearer.assertion.",
            "sasl.oauthbearer.client.credentials.",
            "sasl.oauthbearer.scope",
            "sasl.oauthbearer.token.endpoint.url",
            "sasl.oauthbearer.jwt.",
            "sasl.oauthbearer.jwks.endpoint.retry.",
        ),
        "a node checks tokens and never requests one",
        "use the `sasl.oauthbearer.*` of [configuration](configuration.md#broker-settings)",
        is_about_security=True,
    ),
    RefusedSettings(
        ("ssl.keystore.password", "ssl.truststore.password"),
        "there are no Java key stores",
        "use [PEM files](tls.md#tls) and `ssl.key.password`",
        is_about_security=True,
    ),
    RefusedSettings(
        (
            "ssl.cipher.suites",
            "ssl.engine.factory.class",
            "ssl.keymanager.algorithm",
            "ssl.protocol",
            "ssl.provider",
            "ssl.secure.random.implementation",
            "ssl.trustmanager.algorithm",
        ),
        "they configure Java's TLS",
        "use `ssl.enabled.protocols`",
        is_about_security=True,
    ),
    RefusedSettings(
        ("ssl.allow.dn.changes", "ssl.allow.san.changes"),
        "a new certificate may have any name",
        "remove the setting",
        is_about_security=True,
    ),
    RefusedSettings(
        ("principal.builder.class", "security.providers"),
        _JAVA,
        "use [principal rules](tls.md#principals)",
        is_about_security=True,
    ),
    RefusedSettings(
        ("remote.",), "there is no tiered storage", "remove the setting: all segments are local"
    ),
    RefusedSettings(
        ("create.topic.policy.class.name", "alter.config.policy.class.name"),
        _JAVA,
        "[access rules](authorization.md#access-rules) cover most uses",
    ),
    RefusedSettings(
        ("client.quota.callback.class",), _JAVA, "use [quotas](authorization.md#quotas)"
    ),
    RefusedSettings(
        ("config.providers",),
        _JAVA,
        "use [environment variables](configuration.md#where-settings-come-from)",
    ),
    RefusedSettings(
        ("max.connection.creation.rate",),
        "the rate is a quota, per IP address",
        "use the quota [`connection_creation_rate`](authorization.md#quotas)",
    ),
    RefusedSettings(
        ("max.connections.per.ip.overrides",),
        "one limit counts for all addresses",
        "use `max.connections.per.ip`",
    ),
    RefusedSettings(
        ("controller.quorum.auto.join.enable",),
        "a voter joins by command",
        "use [`barnabas cluster add-node`](cluster-operations.md#add-a-node)",
    ),
    RefusedSettings(
        ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"),
        "internal topics are stored uncompressed",
        "remove the setting",
    ),
    RefusedSettings(
        ("metadata.log.dir", "cordoned.log.dirs"),
        "a node has one directory for everything",
        "use `log.dirs`",
    ),
)

OLDER_SETTINGS = (
    RefusedSettings(
        ("zookeeper.",),
        "there is no ZooKeeper, the nodes elect a controller among themselves",
        "remove the setting, and with several nodes name the voters in "
        "`controller.quorum.voters=ID@HOST:PORT,...`, the same on every node",
    ),
    RefusedSettings(
        ("broker.id.generation.enable", "reserved.broker.max.id"),
        "ids are not generated",
        "set `node.id`, another one on each node, and remove the setting",
    ),
    RefusedSettings(("host.name", "port"), "Kafka 3.0 has removed it", "use `listeners=HOST:PORT`"),
    RefusedSettings(
        ("advertised.host.name", "advertised.port"),
        "Kafka 3.0 has removed it",
        "use `advertised.listeners=HOST:PORT`",
    ),
    RefusedSettings(
        ("control.plane.listener.name",),
        "requests of the controller have no listener for themselves",
        "remove the setting: nodes reach each other by `inter.broker.listener.name`",
    ),
    RefusedSettings(
        ("delegation.token.master.key",),
        "Kafka 4.0 has removed it",
        "use `delegation.token.secret.key`",
        is_about_security=True,
    ),
    RefusedSettings(
        ("password.encoder.",),
        "settings are not encrypted with a password",
        "remove the setting",
    ),
    RefusedSettings(
        ("log.message.timestamp.difference.max.ms",),
        "Kafka 4.0 has removed it",
        "use `log.message.timestamp.before.max.ms` and `log.message.timestamp.after.max.ms`",
    ),
    RefusedSettings(
        ("quota.consumer.default", "quota.producer.default"),
        "Kafka 3.0 has removed it",
        "use [quotas](authorization.md#quotas)",
    ),
    RefusedSettings(
        ("offsets.commit.required.acks",),
        "commits wait for all replicas in sync",
        "remove the setting",
    ),
    RefusedSettings(
        ("confluent.",), "it belongs to Confluent's distribution of Kafka", "remove the setting"
    ),
)
"""Settings of older Kafkas, which files written for them have, and those of a distribution."""

_SECURITY_PREFIXES = (
    "authorizer.",
    "delegation.token.",
    "listener.name.",
    "principal.builder.class",
    "sasl.",
    "security.",
    "ssl.",
)
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")

ONLY_AT_THE_START = {
    "broker.id": "node.id",
    "controller.quorum.bootstrap.servers": None,
    "log.dir": "log.dirs",
    "log.retention.hours": "log.retention.ms",
    "log.retention.minutes": "log.retention.ms",
    "log.roll.hours": "log.roll.ms",
}
"""Other names that a file may have for a setting, and that setting."""


def refused_group(name: str) -> RefusedSettings | None:
    """The entry that Kafka's setting `name` belongs to."""
    for group in (*REFUSED_SETTINGS, *OLDER_SETTINGS):
        for each in group.names:
            if name == each or (each.endswith(".") and name.startswith(each)):
                return group
    return None


def why_refused(name: str, *others: str) -> str | None:
    """The error for a setting that is never accepted; None if `name` is not one of them. `others`
    are settings of the same group.

    Settings of security that Kafka does not have are among them: a typo in one is as dangerous.
    """
    group = refused_group(name)
    if group is None:
        if not name.startswith(_SECURITY_PREFIXES):
            return None
        return (
            f"{name} is not supported, and {_SAFETY}; remove the setting. docs/security.md says "
            "what is supported"
        )
    safety = f", and {_SAFETY}" if group.is_about_security else ""
    instead = _LINK.sub(r"\1", group.instead)
    names, verb = ", ".join((name, *others)), "are" if others else "is"
    return f"{names} {verb} not supported{safety}: {group.why}; {instead}"
