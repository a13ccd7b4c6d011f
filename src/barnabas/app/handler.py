"""One handler: its function, and what `App.handler` was given for it."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, TypeAlias, get_args, get_origin

from barnabas.app.arguments import Invocation, Takes
from barnabas.app.outgoing import Outgoing, Results
from barnabas.app.retry_policy import RetryPolicy
from barnabas.app.runners.whole_topic import Offsets
from barnabas.app.state.changelog import ChangelogNames
from barnabas.app.state.declaration import StateDeclaration
from barnabas.app.statistics import HandlerStatistics
from barnabas.app.values.model_values import Encode, ModelValues
from barnabas.client.offsets.offset_spec import Where
from barnabas.errors import InvalidArgument
from barnabas.formats.registered.by_topic import TopicEncoder
from barnabas.records.message import Message

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
FailureName: TypeAlias = Literal["stop", "skip"]
Next = Callable[[Message], Awaitable[Any]]
Middleware = Callable[[Message, Next], Awaitable[Any]]


@dataclass
class Handler:
    """What is known before anything runs."""

    name: str
    function: Callable[..., Any]
    topics: tuple[str, ...]
    group: str | None
    policy: RetryPolicy
    dead_letters: str | None = None
    on_failure: FailureName = "stop"
    concurrency: int = 1
    produces: str | None = None
    exactly_once: bool = False
    share: bool = False
    results_of: tuple[str, ...] = ()
    standby: bool = False
    max_batch: int = 500
    transaction_timeout_s: float = 60.0
    start: Where | Offsets | None = None
    description: str = ""
    values: ModelValues = field(default_factory=ModelValues)
    statistics: HandlerStatistics = field(default_factory=HandlerStatistics)

    def __post_init__(self) -> None:
        self._by_topic: TopicEncoder | None = None
        self.invocation = Invocation(self.function, self.values)
        takes = self.invocation.parameters.takes
        self._take_topic(self.invocation.parameters.sent_to)
        if self.share:
            self._check_share()
        elif self.results_of:
            raise InvalidArgument(
                f"handler {self.name}: results_of is for jobs; add share=True or leave it out"
            )
        if self.state is not None:
            self._check_state()
        elif self.standby:
            raise InvalidArgument(
                f"handler {self.name}: standby=True keeps copies of its state, and it has none; "
                "leave it out, or take a State"
            )
        self._check_numbers()
        if takes is not Takes.RECORD and self.concurrency > 1:
            raise InvalidArgument(f"handler {self.name}: batches are handled one at a time")
        if takes is not Takes.RECORD and self.policy.topics:
            raise InvalidArgument(f"handler {self.name}: retry topics are for single records")
        if self.group is None:
            self._check_without_group()
        elif callable(self.start):
            raise InvalidArgument(
                f"handler {self.name}: a group starts at its committed offsets; a function that "
                "gives offsets is for group=None"
            )
        if self.exactly_once and self.policy.topics:
            raise InvalidArgument(
                f"handler {self.name}: retry_topics are read outside of the transactions of "
                "exactly_once=True; use retries, or dead_letters, or leave exactly_once out"
            )
        if self.exactly_once and self.policy.blocking_s > self.transaction_timeout_s / 2:
            raise InvalidArgument(
                f"handler {self.name}: the pauses between {self.policy.retries + 1} attempts take "
                f"{self.policy.blocking_s:g} s, and a transaction ends after transaction_timeout_s="
                f"{self.transaction_timeout_s:g}: allow twice the pauses, or shorten them"
            )
        if takes is Takes.TABLE and (self.produces is not None or self.exactly_once):
            raise InvalidArgument(
                f"handler {self.name}: handlers of tables send no results, so they have neither "
                "produces nor exactly_once; take a list of records instead"
            )
        if self.on_failure not in ("stop", "skip"):
            raise InvalidArgument(f'on_failure={self.on_failure!r}: it is "stop" or "skip"')
        self.results = self._results()

    def _check_numbers(self) -> None:
        for name, least in (("concurrency", 1), ("max_batch", 1)):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int):
                raise InvalidArgument(
                    f"handler {self.name}: {name}={given!r}: write a number, such as {name}=8"
                )
            if given < least:
                raise InvalidArgument(f"handler {self.name}: {name} is at least {least}")
        if not isinstance(self.transaction_timeout_s, int | float):
            raise InvalidArgument(
                f"handler {self.name}: transaction_timeout_s={self.transaction_timeout_s!r}: write "
                "a number of seconds, such as transaction_timeout_s=60"
            )
        if self.transaction_timeout_s <= 0:
            raise InvalidArgument(f"handler {self.name}: transaction_timeout_s is more than 0")

    def _take_topic(self, sent_to: str | None) -> None:
        if sent_to is None:
            return
        if self.produces not in (None, sent_to):
            raise InvalidArgument(
                f'handler {self.name}: produces="{self.produces}" and SentTo("{sent_to}") '
                "name two topics; leave one out"
            )
        self.produces = sent_to

    def _check_share(self) -> None:
        """Jobs are done in any order, and their acknowledgements are in no transaction."""
        refused = {
            "group=None": self.group is None,
            "exactly_once": self.exactly_once,
            "retry_topics": bool(self.policy.topics),
            "a start by time": self.start not in (None, "earliest", "latest"),
            "a list or a table": self.takes is not Takes.RECORD,
        }
        for name, is_given in refused.items():
            if is_given:
                raise InvalidArgument(
                    f"handler {self.name}: {name} is not for share groups, which hand out single "
                    "records and count their deliveries; leave it or share=True out"
                )

    def _check_state(self) -> None:
        """State is kept for each partition of one topic, by the member that has it."""
        refused = {
            "group=None": self.group is None,
            "share=True": self.share,
            "retry_topics": bool(self.policy.topics),
            "a list or a table": self.takes is not Takes.RECORD,
            "more than one topic": len(self.topics) > 1,
        }
        for name, is_given in refused.items():
            if is_given:
                raise InvalidArgument(
                    f"handler {self.name}: {name} does not go with State, which is kept by the key "
                    "of single records of one topic, by the member of a group that reads them"
                )
        if not _TOPIC_NAME.fullmatch(self.changelog):
            raise InvalidArgument(
                f"handler {self.name}: its state would be kept in the topic {self.changelog!r}, "
                "which is no name of a topic; use letters, digits, '.', '_' and '-' in the names "
                "of the group and the handler, 249 in all"
            )

    def _check_without_group(self) -> None:
        """Every process handles all records, again after each start."""
        refused = {
            "concurrency": self.concurrency > 1,
            "retry_topics": bool(self.policy.topics),
            "dead_letters": self.dead_letters is not None,
            "exactly_once": self.exactly_once,
        }
        for name, is_given in refused.items():
            if is_given:
                raise InvalidArgument(
                    f"handler {self.name}: {name} needs a group; with group=None every process "
                    "handles all records, one after the other. Name a group, or use retries and "
                    'on_failure="skip"'
                )

    @property
    def group_name(self) -> str:
        """The group, for what only handlers with one have."""
        assert self.group is not None
        return self.group

    @property
    def retry_group(self) -> str:
        """The group that reads the retry topics."""
        return f"{self.group}.retry"

    @property
    def transactional_id_prefix(self) -> str:
        """What the transactional ids of `exactly_once` begin with."""
        return f"{self.group}.{self.name}."

    @property
    def worker_id_prefix(self) -> str:
        """What follows is the worker's member id. Other handlers and groups have no id with it.

        The names alone could be read in several ways: "a.b" and "c", or "a" and "b.c".
        """
        names = f"{self.group}\0{self.name}".encode()
        return f"{self.transactional_id_prefix}{sha256(names).hexdigest()[:8]}."

    @property
    def state(self) -> StateDeclaration | None:
        """What the handler keeps for each key; None for nothing."""
        return self.invocation.parameters.state

    @property
    def changelog(self) -> str:
        """The topic of the state, for what only handlers with one have."""
        assert self.state is not None
        return self.state.changelog(self.group_name, self.name)

    @property
    def changelog_names(self) -> ChangelogNames:
        return ChangelogNames(self.changelog, self.topics[0], self.group_name, self.name)

    @property
    def takes(self) -> Takes:
        return self.invocation.parameters.takes

    async def prepare(self) -> None:
        """Ask for the schema of the results: if there is none, the application does not start."""
        if self._by_topic is not None and self.produces is not None:
            await asyncio.to_thread(self._by_topic.load, self.produces)

    def _results(self) -> Results | None:
        """What is sent on; None if nothing is."""
        hint = self.invocation.parameters.result
        if self.produces is None:
            if hint is Outgoing:
                raise InvalidArgument(
                    f'handler {self.name} returns records: add produces="TOPIC", or write '
                    '-> Annotated[Outgoing, SentTo("TOPIC")]'
                )
            return None
        some = [each for each in get_args(hint) if each is not type(None)]
        if some and len(some) < len(get_args(hint)):  # Invoice | None
            hint = some[0] if len(some) == 1 else None
        many = get_origin(hint) is list
        if many:
            (hint,) = get_args(hint)
        encode: Encode = self.values.encode
        if hint not in (None, Any, Outgoing):
            self._by_topic = known = self.values.topic_encoder(hint, "return")
            encode = self.values.encoder(hint, "return") if known is None else known.encode
        return Results(self.produces, encode, many=many or self.takes is not Takes.RECORD)
