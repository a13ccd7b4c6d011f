"""Why a setting of Mirror Maker 2 is not used: no user should have to guess."""

import re
from collections.abc import Iterable
from typing import NamedTuple

_UNKNOWN = "not known to mirrors; is it spelled right?"

_REASONS = (
    (r"offset\.lag\.max|emit\.offset-syncs\.enabled", "offsets are translated for every record"),
    (r"offset-syncs\.topic\.location", "offset syncs are kept in the target"),
    (
        r"(offset-syncs|checkpoints|heartbeats)\.topic\.replication\.factor",
        "internal topics have the replication factor of the target's brokers",
    ),
    (
        (
            r"(config|offset|status)\.storage\..*|tasks\.max.*|listeners|rest\..*|connector\..*"
            r"|dedicated\.mode\..*|task\..*|worker\..*|scheduled\.rebalance\..*|offset\.flush\..*"
            r"|group\.id|plugin\..*|exactly\.once\.source\.support|name"
        ),
        "belongs to Kafka Connect, which is not used",
    ),
    (
        r"(source\.|target\.)?(consumer|producer|admin)\..*|(consumer|producer|admin)\.override\..*",
        "settings of Java's clients; mirrors have their own",
    ),
    (
        (
            r"(topic|group|config\.property)\.filter\.class|forwarding\.admin\.class|.*\.converter.*"
            r"|transforms.*|predicates.*|errors\..*|metric.*|config\.(providers|action).*"
        ),
        "Java classes and Connect's features can't be used here",
    ),
    (
        r"refresh\..*|sync\..*interval\.seconds|emit\..*interval\.seconds",
        "looked at together with topics or groups",
    ),
    (r"use\.incremental\.alter\.configs", "settings are always altered one by one"),
    (
        r"(source|target)\.cluster\.(alias|bootstrap\.servers)",
        "clusters are named by the line clusters = A, B",
    ),
    (r"enabled", "write it for each flow: A->B.enabled = true"),
    (
        r"(ssl|sasl|security)\..*",
        "security of this kind is not supported; see the security settings of clients",
    ),
)


class UnusedSetting(NamedTuple):
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def unused_settings(names: Iterable[str], clusters: Iterable[str]) -> list[UnusedSetting]:
    """Names of settings with reasons; the clusters are those of the file."""
    known = "|".join(re.escape(each) for each in clusters)
    pattern = re.compile(rf"(?:(?P<flow>(?:{known})->(?:{known}))|(?:{known}))\.(?P<name>.*)")
    found = []
    for full in names:
        split = pattern.fullmatch(full)
        name = split["name"] if split else full
        if "->" in full and not split:
            reason = "one of its clusters is not in the list of clusters"
        else:
            reason = next((why for what, why in _REASONS if re.fullmatch(what, name)), _UNKNOWN)
        found.append(UnusedSetting(full, reason))
    return found
