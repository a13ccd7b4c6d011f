"""Subjects and contexts.

A subject of a context is written `:.CONTEXT:SUBJECT`; one without a prefix is of the default
context, `.`. `:.CONTEXT:` is the context itself, where settings are concerned, and `:*:` stands
for all contexts in prefixes of subjects.
"""

from typing import NamedTuple

DEFAULT_CONTEXT = "."
ALL_CONTEXTS = ":*:"
_PREFIX = ":."
_RESERVED = ("__GLOBAL", "__EMPTY")
_FIRST_PRINTABLE = " "


class SubjectName(NamedTuple):
    """A subject and its context; `subject` is empty for the context itself."""

    context: str
    subject: str

    @property
    def qualified(self) -> str:
        """As it is stored: without a prefix in the default context."""
        if self.context == DEFAULT_CONTEXT:
            return self.subject
        return f":{self.context}:{self.subject}"


def parse_subject(name: str) -> SubjectName:
    """The parts of a name."""
    if not name.startswith(_PREFIX):
        return SubjectName(DEFAULT_CONTEXT, name)
    context, _, subject = name[1:].partition(":")
    return SubjectName(context, subject)


def qualified(name: str) -> str:
    """A name as it is stored."""
    return parse_subject(name).qualified


def context_of(name: str) -> str:
    return parse_subject(name).context


def beside(parent: str, name: str) -> str:
    """A subject that `parent` refers to: of the same context if it names none."""
    if name.startswith(_PREFIX):
        return qualified(name)
    return SubjectName(context_of(parent), name).qualified


def context_name(text: str) -> str:
    """A context as clients write it: `.staging`, `staging` or `:.staging:`."""
    name = text.strip(":")
    return name if name.startswith(DEFAULT_CONTEXT) else DEFAULT_CONTEXT + name


def is_valid_subject(name: str) -> bool:
    """Whether a subject can have this name."""
    subject = parse_subject(name).subject
    return (
        bool(subject.strip())
        and subject not in _RESERVED
        and all(each >= _FIRST_PRINTABLE and each != "\x7f" for each in name)
    )
