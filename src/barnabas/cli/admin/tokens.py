"""`barnabas tokens`: delegation tokens, with which jobs sign in instead of with a password."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.base.command import CommandError, Session, cluster_command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.cli.base.times import format_time, parse_duration

if TYPE_CHECKING:
    from barnabas.client.admin.delegation_tokens import DelegationToken

app = typer.Typer(no_args_is_help=True, help="Create, list, renew and expire delegation tokens.")

TokenArgument = Annotated[
    str, typer.Argument(metavar="TOKEN-ID", help="Id of the token.", show_default=False)
]


@app.command("create", epilog="Example: barnabas tokens create --output job.properties")
@cluster_command
async def create(
    session: Session,
    owner: Annotated[
        str | None,
        typer.Option("--owner", metavar="USER", help="Create it for USER. Default: for yourself."),
    ] = None,
    renewers: Annotated[
        list[str] | None,
        typer.Option("--renewer", metavar="USER", help="USER may renew it; may be repeated."),
    ] = None,
    max_lifetime: Annotated[
        str | None,
        typer.Option(
            "--max-lifetime",
            metavar="TIME",
            help="Maximum lifetime, such as 12h; at most delegation.token.max.lifetime.ms.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Write the settings that sign in with it to FILE, which only you can read.",
        ),
    ] = None,
) -> None:
    """Create a delegation token, and show it this once."""
    from barnabas.client.admin.delegation_tokens import create_token

    if output is not None and output.exists():
        raise CommandError(f"{output} exists; choose another file")
    async with session.connect() as cluster:
        token = await create_token(
            cluster,
            owner=owner,
            renewers=renewers or (),
            max_lifetime_ms=None if max_lifetime is None else parse_duration(max_lifetime),
        )
    settings = _settings(session, token)
    if output is not None:
        _write_private(output, "".join(f"{name}={value}\n" for name, value in settings.items()))
    if session.as_json:
        print_json({**_in_json(token), **({} if output else {"hmac": token.password})})
        return
    if output is None:
        for name, value in settings.items():
            print_line(f"{name}={value}")
    else:
        say(f"wrote {output}")
    say(f"created token {token.token_id} of {token.owner}; {_times(token)}")


@app.command("list", epilog="Example: barnabas tokens list --owner alice")
@cluster_command
async def list_(
    session: Session,
    owners: Annotated[
        list[str] | None,
        typer.Option("--owner", metavar="USER", help="That concern USER; may be repeated."),
    ] = None,
) -> None:
    """List the tokens that you may see, without their HMACs."""
    from barnabas.client.admin.delegation_tokens import describe_tokens

    async with session.connect() as cluster:
        tokens = await describe_tokens(cluster, owners)
    if session.as_json:
        print_json(list(map(_in_json, tokens)))
        return
    print_table(
        ("token", "owner", "requester", "renewers", "expires", "not beyond"),
        [
            (
                token.token_id,
                token.owner,
                token.requester,
                ",".join(token.renewers) or None,
                format_time(token.expiry_timestamp_ms),
                format_time(token.max_timestamp_ms),
            )
            for token in tokens
        ],
    )


@app.command("renew", epilog="Example: barnabas tokens renew TOKEN-ID --for 12h")
@cluster_command
async def renew(
    session: Session,
    token_id: TokenArgument,
    period: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Lifetime from now on, such as 12h. Default: delegation.token.expiry.time.ms.",
        ),
    ] = None,
) -> None:
    """Renew a token of which you are the owner or a renewer."""
    from barnabas.client.admin.delegation_tokens import find_token, renew_token

    async with session.connect() as cluster:
        token = await find_token(cluster, token_id)
        period_ms = None if period is None else parse_duration(period)
        expires_ms = await renew_token(cluster, token.hmac, period_ms)
    _report(session, token_id, expires_ms)


@app.command("expire", epilog="Example: barnabas tokens expire TOKEN-ID")
@cluster_command
async def expire(
    session: Session,
    token_id: TokenArgument,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="TIME", help="After this time, such as 1h. Default: now."),
    ] = None,
) -> None:
    """Let a token expire, of which you are the owner or a renewer. Open connections stay open until
    it would have expired."""
    from barnabas.client.admin.delegation_tokens import expire_token, find_token

    async with session.connect() as cluster:
        token = await find_token(cluster, token_id)
        after_ms = None if after is None else parse_duration(after)
        expires_ms = await expire_token(cluster, token.hmac, after_ms)
    _report(session, token_id, expires_ms)


def _settings(session: Session, token: "DelegationToken") -> dict[str, str]:
    """Those of this command, with the token in place of its user."""
    kept = {
        name: value
        for name, value in session.config.security_settings.items()
        if name == "security.protocol" or name.startswith("ssl.ca.")
    }
    return {"bootstrap.servers": session.bootstrap, **kept, **token.client_settings()}


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")


def _in_json(token: "DelegationToken") -> dict[str, Any]:
    return {
        "token_id": token.token_id,
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issue_timestamp_ms": token.issue_timestamp_ms,
        "expiry_timestamp_ms": token.expiry_timestamp_ms,
        "max_timestamp_ms": token.max_timestamp_ms,
    }


def _times(token: "DelegationToken") -> str:
    return (
        f"expires {format_time(token.expiry_timestamp_ms)}, can be renewed until "
        f"{format_time(token.max_timestamp_ms)}"
    )


def _report(session: Session, token_id: str, expires_ms: int) -> None:
    if session.as_json:
        print_json({"token_id": token_id, "expiry_timestamp_ms": expires_ms})
    else:
        say(f"token {token_id} expires {format_time(expires_ms)}")
