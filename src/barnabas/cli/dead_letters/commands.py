"""`barnabas dead-letters`: look at records that were given up, send them back, delete them."""

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.base.command import CLIENT_ID, CommandError, Session, UsageError, cluster_command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.cli.base.times import format_time

if TYPE_CHECKING:
    from barnabas.dead_letters.letters import LetterCluster

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

    found: list[Letter] = []
    async for letter in read_letters(await _cluster(session, topic), topic):
        if matches(reason, letter.said):
            found.append(letter)
            if len(found) == limit:
                break
    if session.as_json:
        print_json([_as_json(each) for each in found])
        return
    rows = [
        (
            each.place,
            each.origin,
            format_time(each.message.timestamp_ms),
            each.said.get("group", "-"),
            each.said.get("deliveries", "-"),
            each.said.get("reason", "-")[:_SHORT],
        )
        for each in found
    ]
    print_table(("letter", "record", "time", "group", "attempts", "reason"), rows)


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
    from barnabas.dead_letters.replay import replay_letters

    sent = await replay_letters(await _cluster(session, topic), topic, reason)
    if session.as_json:
        print_json(dict(sent))
        return
    for name, count in sorted(sent.items()):
        print_line(f"sent {count} back to {name}")
    if not sent:
        say("no dead letters left to send back: each is sent back only once")


async def drop(
    session: Session,
    topic: Topic,
    replayed: Annotated[
        bool, typer.Option("--replayed", help="Only those that were sent back.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Delete dead letters from TOPIC for good."""
    from barnabas.dead_letters.replay import drop_letters, droppable

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


def _as_json(letter: "object") -> dict[str, object]:
    from barnabas.dead_letters.letters import Letter

    assert isinstance(letter, Letter)
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
