"""`barnabas dead-letters`: look at records that were given up, send them back, delete them."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CLIENT_ID, CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.cli.base.times import format_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from barnabas.client.connect.cluster_metadata import TopicPartition
    from barnabas.dead_letters.letters import Letter, LetterCluster
    from barnabas.dead_letters.progress import Replayed

app = typer.Typer(no_args_is_help=True, help="See, replay and delete dead letters.")

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="Topic of the dead letters.")]
Reason = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Only those whose reason contains this.", show_default=False),
]
_SHORT = 80


@app.callback()
def family() -> None:
    """See, replay and delete dead letters."""


async def list_letters(
    session: Session,
    topic: Topic,
    reason: Reason = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many.")] = 100,
) -> None:
    """List dead letters: where each record was, and why it was given up."""
    from barnabas.dead_letters.letters import Letter, matches, read_letters
    from barnabas.dead_letters.progress import replayed_up_to
    from barnabas.errors import NotAuthorized

    cluster = await _cluster(session, topic)
    try:
        seen = await replayed_up_to(cluster, topic)
    except NotAuthorized:  # for the group that records it
        seen = None
    found: list[Letter] = []
    others = 0
    async for letter in read_letters(cluster, topic):
        if not letter.is_letter:
            others += 1
        elif matches(reason, letter.said):
            found.append(letter)
            if len(found) == limit:
                break
    if others and not found:
        await _say_without_letters(cluster, topic, others)
    if session.as_json:
        print_json([_as_json(each) | {"sent_back": _sent_back(each, seen)} for each in found])
        return
    rows = [
        (
            each.place,
            each.origin,
            format_time(each.message.timestamp_ms),
            each.said.get("group", "-"),
            each.said.get("deliveries", "-"),
            {True: "yes", False: "no", None: "?"}[_sent_back(each, seen)],
            each.said.get("reason", "-")[:_SHORT],
        )
        for each in found
    ]
    print_table(("letter", "record", "time", "group", "attempts", "sent_back", "reason"), rows)


async def _say_without_letters(cluster: "LetterCluster", topic: str, records: int) -> None:
    """Somebody has named the topic of the jobs, perhaps."""
    async with cluster.admin() as admin:
        dead = f"{topic}-dead"
        known = dead in await admin.topics()
    hint = f": did you mean {dead}?" if known else ""
    which = "its record is no dead letter" if records == 1 else "its records are no dead letters"
    say(f"{topic} has no dead letters, {which}{hint}")


def _sent_back(letter: "Letter", seen: "Mapping[TopicPartition, Replayed] | None") -> bool | None:
    """None if it is not known."""
    from barnabas.client.connect.cluster_metadata import TopicPartition
    from barnabas.dead_letters.progress import Replayed

    if seen is None:
        return None
    message = letter.message
    replayed = seen.get(TopicPartition(message.topic, message.partition), Replayed())
    return replayed.sent_back(message.offset)


async def show(
    session: Session,
    topic: Topic,
    place: Annotated[str, typer.Argument(metavar="PARTITION:OFFSET", help="Which, as listed.")],
) -> None:
    """Show one dead letter: key, value, headers, and the whole reason."""
    from barnabas.client.connect.cluster_metadata import TopicPartition
    from barnabas.dead_letters.letters import read_letters

    partition, _, offset = place.partition(":")
    if not partition.isdecimal() or not offset.isdecimal():
        raise UsageError(f"{place!r}: write PARTITION:OFFSET, as `dead-letters list` shows it")
    where = TopicPartition(topic, int(partition))
    async for letter in read_letters(await _cluster(session, topic), topic, where, int(offset)):
        if letter.message.offset != int(offset):
            break
        if session.as_json:
            print_json(_as_json(letter))
            return
        print_line(f"record:     {letter.origin}")
        for name in ("timestamp", "group", "deliveries", "reason"):
            if name in letter.said:
                print_line(f"{name + ':':<12}{letter.said[name]}")
        print_line(f"key:        {_text(letter.message.key)}")
        print_line(f"value:      {_text(letter.message.value)}")
        for header, value in letter.message.headers:
            if not header.startswith("dead-letter."):
                print_line(f"header:     {header}={_text(value)}")
        return
    raise CommandError(f"{topic} has no record at {place}")


async def replay(session: Session, topic: Topic, reason: Reason = None) -> None:
    """Send dead letters back to their topics, each once."""
    from barnabas.dead_letters.progress import group_of
    from barnabas.dead_letters.replay import replay_letters

    sent, left, uncertain = await replay_letters(await _cluster(session, topic), topic, reason)
    if session.as_json:
        named = [
            {"partition": where.partition, "first": first, "last": last}
            for where, (first, last) in uncertain
        ]
        print_json({"sent": dict(sent), "left": left, "uncertain": named})
        return
    for name, count in sorted(sent.items()):
        print_line(f"sent {count} back to {name}")
    if not sent and left:
        say("no dead letter with this reason left to send back")
    elif not sent and not uncertain:
        say("no dead letters left to send back: each is sent back only once")
    if left:
        say(f"{left} left, which --reason has passed over")
    if uncertain:
        places = ", ".join(
            f"{where.partition}:{first} to {where.partition}:{last}"
            for where, (first, last) in uncertain
        )
        say(
            f"left out: letters from {places}, some of which were sent back by replays with "
            "--reason that have passed over too many others to record each. To send all letters "
            "again, also those that were sent back: barnabas groups reset-offsets "
            f"{group_of(topic)} --all-topics --to-earliest --execute"
        )


async def drop(
    session: Session,
    topic: Topic,
    replayed: Annotated[
        bool, typer.Option("--replayed", help="Only those that were sent back.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Delete dead letters from TOPIC for good."""
    from barnabas.dead_letters.deletion import drop_letters, droppable

    cluster = await _cluster(session, topic)
    before, count, kept = await droppable(cluster, topic, replayed=replayed)
    if kept:
        say(f"{kept} stay: a replay with --reason has passed over them, or over one before them")
    if not count:
        say("nothing to delete")
        return
    if not yes:
        typer.confirm(f"Delete {count} dead letters of {topic}?", abort=True, err=True)
    await drop_letters(cluster, before)
    print_line(f"deleted {count} of {topic}")


async def _cluster(session: Session, topic: str) -> "LetterCluster":
    """Raises if it has no such topic."""
    from barnabas.cli.base.topic_names import check_topics
    from barnabas.dead_letters.letters import LetterCluster

    async with session.connect() as cluster:
        await check_topics(cluster, [topic])
    return LetterCluster(session.bootstrap, session.config.security_settings, CLIENT_ID)


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode("utf-8", "backslashreplace")


def _as_json(letter: "Letter") -> dict[str, object]:
    message = letter.message
    return {
        "partition": message.partition,
        "offset": message.offset,
        "key": _text(message.key) if message.key is not None else None,
        "value": _text(message.value) if message.value is not None else None,
        **{f"dead-letter.{name}": value for name, value in letter.said.items()},
    }


app.command("list", epilog="Example: barnabas dead-letters list orders-dead --reason bank")(
    cluster_command(list_letters)
)
app.command("show", epilog="Example: barnabas dead-letters show orders-dead 0:17")(
    cluster_command(show)
)
app.command("replay", epilog="Example: barnabas dead-letters replay orders-dead")(
    cluster_command(replay)
)
app.command("drop", epilog="Example: barnabas dead-letters drop orders-dead --replayed")(
    cluster_command(drop)
)
