"""The rules, found by the resource that they concern."""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.metadata.acl import Acl
from barnabas.security.address import canonical_address
from barnabas.wire.acl_codes import WILDCARD, PatternType


class Rule(NamedTuple):
    """A rule, and its host as it is compared: the rule keeps the text that it was given with."""

    acl: Acl
    host: str

    @classmethod
    def of(cls, acl: Acl) -> "Rule":
        return cls(acl, canonical_address(acl.host))


class RuleIndex:
    """Rules by pattern: a lookup takes a step for each length that prefixes have, and the rules
    that concern the resource; how many others there are does not matter."""

    def __init__(self) -> None:
        self._literal: dict[tuple[int, str], list[Rule]] = {}
        self._prefixed: dict[tuple[int, str], list[Rule]] = {}
        self._lengths: dict[int, dict[int, int]] = {}
        """By type: how many prefixes there are of each length."""

    def add(self, acl: Acl) -> None:
        key = (acl.resource_type, acl.resource_name)
        if acl.pattern_type != PatternType.PREFIXED:
            self._literal.setdefault(key, []).append(Rule.of(acl))
            return
        if key not in self._prefixed:
            counts = self._lengths.setdefault(acl.resource_type, {})
            length = len(acl.resource_name)
            counts[length] = counts.get(length, 0) + 1
        self._prefixed.setdefault(key, []).append(Rule.of(acl))

    def remove(self, acl: Acl) -> None:
        """Take back a rule that was added."""
        key = (acl.resource_type, acl.resource_name)
        is_prefixed = acl.pattern_type == PatternType.PREFIXED
        patterns = self._prefixed if is_prefixed else self._literal
        patterns[key].remove(Rule.of(acl))
        if patterns[key]:
            return
        del patterns[key]
        if is_prefixed:
            counts = self._lengths[acl.resource_type]
            length = len(acl.resource_name)
            counts[length] -= 1
            if not counts[length]:
                del counts[length]

    def clear(self) -> None:
        self._literal.clear()
        self._prefixed.clear()
        self._lengths.clear()

    def concerning(self, resource_type: int, name: str) -> Iterator[Rule]:
        """The rules whose pattern matches a resource, whomever they are about."""
        yield from self._literal.get((resource_type, name), ())
        if name != WILDCARD:
            yield from self._literal.get((resource_type, WILDCARD), ())
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                yield from self._prefixed.get((resource_type, name[:length]), ())

    def of_type(self, resource_type: int) -> Iterator[Rule]:
        for patterns in (self._literal, self._prefixed):
            for (found, _), rules in patterns.items():
                if found == resource_type:
                    yield from rules
