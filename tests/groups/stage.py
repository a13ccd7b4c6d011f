"""A stage for consumers that behave as real ones do, and a transcript of what happens on it.

A line is `ms who: request -> answer`; the answer to a join or a sync has a line of its own, as it
may come later. Clients join, sync when they have joined, and join again when they are told to.
"""

from textwrap import dedent

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse
from tests.groups.shell import Protocols, Shell, subscription

EAGER: Protocols = [("range", subscription("t"))]


class Stage:
    """Several clients of one group, and the transcript of what happens."""

    def __init__(self) -> None:
        self.shell = Shell(now_ms=0)
        self.lines: list[str] = []
        self.actors: list[Actor] = []
        self.names: dict[str, str] = {}
        """Who is behind a member id."""

    def actor(self, name: str, **options: object) -> "Actor":
        actor = Actor(self, name, **options)
        self.actors.append(actor)
        return actor

    def say(self, text: str) -> None:
        self.lines.append(f"{self.shell.now_ms} {text}")

    def settle(self) -> None:
        """Let clients react to their answers until there are none left."""
        while any(actor.hear() for actor in self.actors):
            pass

    def wait(self, ms: int) -> None:
        end_ms = self.shell.now_ms + ms
        while self.shell.now_ms < end_ms:
            deadline_ms = self.shell.shard.next_deadline_ms()
            until_ms = end_ms if deadline_ms is None else min(deadline_ms, end_ms)
            self.shell.advance(until_ms - self.shell.now_ms)
            self.settle()

    def restart(self) -> None:
        self.say("broker: restarted")
        self.shell = self.shell.restart()
        for actor in self.actors:
            actor.waiting = 0

    def check(self, expected: str) -> None:
        assert "\n".join(self.lines) == dedent(expected).strip()


class Actor:
    def __init__(
        self,
        stage: Stage,
        name: str,
        instance: str | None = None,
        protocols: Protocols = EAGER,
        version: int = 9,
    ) -> None:
        self.stage = stage
        self.name = name
        self.instance = instance
        self.protocols = protocols
        self.version = version
        self.member_id = ""
        self.generation_id = -1
        self.assignment = b""
        self.waiting = 0

    def join(self) -> None:
        self.stage.say(f"{self.name}: join")
        self.waiting = self.stage.shell.join(
            self.member_id,
            instance=self.instance,
            protocols=self.protocols,
            version=self.version,
        )
        self.stage.settle()

    def hear(self) -> bool:
        answer = self.stage.shell.answers.get(self.waiting)
        if answer is None:
            return False
        self.waiting = 0
        if isinstance(answer, JoinGroupResponse):
            self.hear_join(answer)
        elif isinstance(answer, SyncGroupResponse):
            code = ErrorCode(answer.error_code)
            self.assignment = answer.assignment
            text = answer.assignment.decode() if code is ErrorCode.NONE else code.name
            self.stage.say(f"{self.name}: <- {text}")
        return True

    def hear_join(self, answer: JoinGroupResponse) -> None:
        code = ErrorCode(answer.error_code)
        stage = self.stage
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            stage.names[self.member_id] = self.name
            stage.say(f"{self.name}: <- {code.name}")
            self.join()
            return
        if code is not ErrorCode.NONE:
            stage.say(f"{self.name}: <- {code.name}")
            if code is ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
                self.join()
            return
        self.member_id = answer.member_id
        stage.names.setdefault(self.member_id, self.name)
        self.generation_id = answer.generation_id
        role = f"led by {stage.names.get(answer.leader, answer.leader)}"
        if answer.skip_assignment:
            role += ", skip assignment"
        stage.say(f"{self.name}: <- generation {self.generation_id}, {role}; sync")
        plan = {}
        if answer.leader == self.member_id and not answer.skip_assignment:
            others = [member.member_id for member in answer.members]
            share = f"1/{len(others)} of generation {self.generation_id}".encode()
            plan = dict.fromkeys(others, share)
        self.waiting = stage.shell.sync(
            self.member_id, self.generation_id, plan, instance=self.instance
        )

    def heartbeat(self) -> None:
        code = self.stage.shell.heartbeat(self.member_id, self.generation_id, self.instance)
        self.stage.say(f"{self.name}: heartbeat -> {code.name}")
        if code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            self.join()
        elif code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
            self.join()

    def leave(self) -> None:
        token = self.stage.shell.leave(self.member_id)
        code = ErrorCode(self.stage.shell.left(token).members[0].error_code)
        self.stage.say(f"{self.name}: leave -> {code.name}")
        self.member_id = ""
        self.stage.settle()

    def commit(self, offset: int) -> None:
        token = self.stage.shell.commit(
            offset,
            member_id=self.member_id,
            generation_id=self.generation_id,
            instance=self.instance,
        )
        code = self.stage.shell.error(token)
        self.stage.say(f"{self.name}: commit {offset} -> {code.name}")
