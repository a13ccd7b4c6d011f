"""`barnabas profile`: clusters by name, and the one that commands talk to."""

import os
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base.command import CommandError, CommonOptions, UsageError, command
from barnabas.cli.base.output import print_json, print_line, print_table, say
from barnabas.cli.base.pairs import parse_pairs
from barnabas.cli.base.profiles import Profiles
from barnabas.cli.base.properties import read_properties

app = typer.Typer(no_args_is_help=True, help="Name clusters, and choose the one to talk to.")

_BOOTSTRAP = "bootstrap.servers"
_HIDDEN = "(hidden)"
_SECRETS = ("password", "secret", "jaas", "keystore.key", "key.pem", "oauthbearer.token")
"""What the names of settings with secrets have in them."""
_NO_SECRET = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 - the name of a setting


def _complete(incomplete: str) -> list[str]:
    return [name for name in Profiles(os.environ).names() if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Profile.", show_default=False, autocompletion=_complete),
]


@app.command("set", epilog="Example: barnabas profile set prod --bootstrap k1:9093,k2:9093")
@command()
def set_(
    name: Name,
    bootstrap: Annotated[
        str | None,
        typer.Option("--bootstrap", "-b", metavar="HOST:PORT", help="Brokers, with commas."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="security.*, ssl.* or sasl.*; may be repeated."
        ),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Setting to remove; may be repeated."),
    ] = None,
) -> None:
    """Create a profile, or change it.

    It is a properties file that only you can read: you may edit it, and put a password there
    instead of on the command line.
    """
    profiles = Profiles(os.environ)
    path = profiles.path(name)
    before = read_properties(path, "profile") if path.exists() else {}
    given = parse_pairs(settings or [], "--set")
    if bootstrap is not None:
        given[_BOOTSTRAP] = bootstrap
    new = {key: value for key, value in (before | given).items() if key not in (unset or ())}
    if _BOOTSTRAP not in new:
        raise UsageError(f"profile {name} has no brokers; give --bootstrap HOST:PORT")
    _check(new)
    profiles.save(name, new)
    say(f"wrote {path}; `barnabas profile use {name}` makes commands use it")


def _check(settings: dict[str, str]) -> None:
    """Raises `InvalidArgument` if no client can use these settings."""
    from barnabas.client.connect.address import parse_addresses
    from barnabas.client.connect.security_settings import security_settings

    others = dict(settings)
    parse_addresses(others.pop(_BOOTSTRAP))
    security_settings(others)


@app.command("use", epilog="Example: barnabas profile use prod")
@command()
def use(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Profile.", show_default=False, autocompletion=_complete
        ),
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Use no profile.")] = False,
) -> None:
    """Let commands talk to this cluster.

    It counts where neither --bootstrap nor --command-config nor a variable names a cluster.
    """
    if (name is None) is not none:
        raise UsageError("give the name of a profile, or --none")
    profiles = Profiles(os.environ)
    if name is not None:
        _existing(profiles, name)
    profiles.use(name)
    say("using no profile" if name is None else f"using profile {name}")


@app.command("list", epilog="Example: barnabas profile list")
@command("as_json")
def list_(common: CommonOptions) -> None:
    """List profiles; the one in use has a star."""
    profiles = Profiles(os.environ)
    in_use = profiles.in_use()
    rows = [
        (name, read_properties(profiles.path(name), "profile").get(_BOOTSTRAP))
        for name in profiles.names()
    ]
    if common.as_json:
        print_json([{"profile": n, "bootstrap": b, "in_use": n == in_use} for n, b in rows])
    elif rows:
        print_table(
            ("in use", "profile", "bootstrap"),
            [("*" if name == in_use else "", name, brokers) for name, brokers in rows],
        )
    else:
        say("no profiles; create one with `barnabas profile set NAME --bootstrap HOST:PORT`")


@app.command("show", epilog="Example: barnabas profile show prod")
@command("as_json")
def show(common: CommonOptions, name: Name) -> None:
    """Show the settings of a profile, without its passwords."""
    settings = read_properties(_existing(Profiles(os.environ), name), "profile")
    shown = {key: _HIDDEN if _is_secret(key) else value for key, value in settings.items()}
    if common.as_json:
        print_json({"profile": name, "settings": shown})
    else:
        for key, value in shown.items():
            print_line(f"{key}={value}")


def _is_secret(setting: str) -> bool:
    return setting != _NO_SECRET and any(part in setting for part in _SECRETS)


@app.command("delete", epilog="Example: barnabas profile delete prod")
@command()
def delete(name: Name) -> None:
    """Delete a profile."""
    profiles = Profiles(os.environ)
    _existing(profiles, name)
    profiles.delete(name)
    say(f"deleted profile {name}")


def _existing(profiles: Profiles, name: str) -> Path:
    path = profiles.path(name)
    if not path.exists():
        from difflib import get_close_matches

        similar = get_close_matches(name, profiles.names(), n=1)
        guess = f"did you mean {similar[0]}? " if similar else ""
        raise CommandError(f"there is no profile {name}; {guess}see `barnabas profile list`")
    return path
