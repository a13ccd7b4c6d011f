"""The rules, found by the resource that they concern, and by the principal."""

from bisect import bisect_right
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


class RulesByPattern:
    """Rules of one type of resource by pattern.

    A lookup takes a binary search for each prefix of the name that has rules, and usually one more;
    how many other patterns there are does not matter.
    """

    def __init__(self) -> None:
        self._literal: dict[str, list[Rule]] = {}
        self._prefixed: dict[str, list[Rule]] = {}
        self._order: list[str] = []
        """The prefixes, in order once they are looked at."""
        self._is_ordered = True

    def __bool__(self) -> bool:
        return bool(self._literal or self._prefixed)

    def add(self, rule: Rule) -> None:
        name = rule.acl.resource_name
        if rule.acl.pattern_type != PatternType.PREFIXED:
            self._literal.setdefault(name, []).append(rule)
            return
        if name not in self._prefixed:
            self._order.append(name)
            self._is_ordered = False
        self._prefixed.setdefault(name, []).append(rule)

    def remove(self, rule: Rule) -> None:
        name = rule.acl.resource_name
        is_prefixed = rule.acl.pattern_type == PatternType.PREFIXED
        patterns = self._prefixed if is_prefixed else self._literal
        patterns[name].remove(rule)
        if patterns[name]:
            return
        del patterns[name]
        if is_prefixed:
            self._order.remove(name)

    def concerning(self, name: str) -> Iterator[Rule]:
        """The rules whose pattern matches the name."""
        literal = self._literal
        if literal:
            yield from literal.get(name, ())
            if name != WILDCARD:
                yield from literal.get(WILDCARD, ())
        if self._prefixed:
            for prefix in self._prefixes(name):
                yield from self._prefixed[prefix]

    def all(self) -> Iterator[Rule]:
        for patterns in (self._literal, self._prefixed):
            for rules in patterns.values():
                yield from rules

    def _prefixes(self, name: str) -> Iterator[str]:
        """The prefixes of the name that have rules, the longest first.

        Those that are left are prefixes of what the name has in common with the one before it in
        the order of all prefixes.
        """
        order = self._order
        if not self._is_ordered:
            order.sort()
            self._is_ordered = True
        at = bisect_right(order, name)
        while at:
            prefix = order[at - 1]
            if name.startswith(prefix):
                yield prefix
                common = prefix[:-1]
            else:
                common = _common(name, prefix)
            at = bisect_right(order, common, 0, at - 1)


def _common(one: str, other: str) -> str:
    """What both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return one[:low]


class RuleIndex:
    """All rules. Judging a request looks only at the rules about its principal: thousands of users
    may have rules for the same resources."""

    def __init__(self) -> None:
        self._all: dict[int, RulesByPattern] = {}
        """By type of resource."""
        self._of_principal: dict[tuple[int, str], RulesByPattern] = {}

    def add(self, acl: Acl) -> None:
        rule = Rule.of(acl)
        self._all.setdefault(acl.resource_type, RulesByPattern()).add(rule)
        key = (acl.resource_type, acl.principal)
        self._of_principal.setdefault(key, RulesByPattern()).add(rule)

    def remove(self, acl: Acl) -> None:
        """Take back a rule that was added."""
        rule = Rule.of(acl)
        self._all[acl.resource_type].remove(rule)
        key = (acl.resource_type, acl.principal)
        self._of_principal[key].remove(rule)
        if not self._of_principal[key]:
            del self._of_principal[key]

    def clear(self) -> None:
        self._all.clear()
        self._of_principal.clear()

    def about(self, principal: str, resource_type: int, name: str) -> Iterator[Rule]:
        """The rules about a principal whose pattern matches a resource."""
        patterns = self._of_principal.get((resource_type, principal))
        return iter(()) if patterns is None else patterns.concerning(name)

    def all_about(self, principal: str, resource_type: int) -> Iterator[Rule]:
        """The rules about a principal for a type of resource."""
        patterns = self._of_principal.get((resource_type, principal))
        return iter(()) if patterns is None else patterns.all()

    def concerning(self, resource_type: int, name: str) -> Iterator[Rule]:
        """The rules whose pattern matches a resource, whomever they are about."""
        patterns = self._all.get(resource_type)
        return iter(()) if patterns is None else patterns.concerning(name)
