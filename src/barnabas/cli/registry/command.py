"""The command `barnabas registry`."""

import logging
import signal
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CLUSTER, CommonOptions, UsageError, command

EPILOG = """\b
Examples:
  barnabas registry
  barnabas registry --bootstrap kafka-1:9092 --listen 0.0.0.0:8081
  barnabas registry --listen 0.0.0.0:8081 --advertise http://a:8081 \
      --instances http://a:8081,http://b:8081
  barnabas registry --listen 0.0.0.0:8443 --certificate tls.pem --key tls.key \
      --sign-in --command-config registry.properties
"""


@command(*CLUSTER)
def registry(
    common: CommonOptions,
    listen: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Address to listen on; port 0 takes a free port."),
    ] = "localhost:8081",
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="URL for other instances. Default: the --listen address.",
            show_default=False,
        ),
    ] = None,
    instances: Annotated[
        str | None,
        typer.Option(
            metavar="URL,URL",
            help="URLs of all instances, to forward changes to. Default: only those that listen on "
            "localhost; others take over.",
            show_default=False,
        ),
    ] = None,
    topic: Annotated[
        str, typer.Option(metavar="TOPIC", help="Topic of the schemas; created if missing.")
    ] = "_schemas",
    replication_factor: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Replicas of a new topic. Default: that of the brokers.",
            show_default=False,
        ),
    ] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Other host name of the REST API; may be repeated."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate for HTTPS.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Private key of the certificate.")
    ] = None,
    sign_in: Annotated[
        bool,
        typer.Option(
            "--sign-in",
            help="Let callers sign in as users of the cluster (SASL): its access rules decide "
            "which subjects each may read and change.",
        ),
    ] = False,
    requests_per_second: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            min=0.01,
            help="Requests a second that each user may send to this instance, or each address "
            "without --sign-in. Default: no limit.",
            show_default=False,
        ),
    ] = None,
    insecure_http: Annotated[
        bool,
        typer.Option(
            "--insecure-http",
            help="Take passwords over HTTP from other machines; for a proxy that does TLS.",
        ),
    ] = False,
) -> int:
    """Serve a schema registry until Ctrl-C or SIGTERM.

    It speaks the REST API of Confluent's registry and keeps its schemas in a topic. Any number of
    instances may run.
    """
    from barnabas.cli.base.runner import run_async
    from barnabas.registry.schema_checks import ParsedChecks
    from barnabas.registry.service import serve
    from barnabas.registry.settings import RegistrySettings

    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key go together")
    known = tuple(each.strip() for each in (instances or "").split(",") if each.strip())
    for each in known:
        _check_url(each, "--instances")
    if advertise is not None:
        _check_url(advertise, "--advertise")
    host, port = _parse_listen(listen)
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    level = logging.DEBUG if common.verbose else logging.INFO
    logging.getLogger("barnabas.registry").setLevel(level)
    config = common.client_config()
    config.security()  # wrong settings are found before anything starts
    settings = RegistrySettings(
        config.bootstrap,
        host,
        port,
        topic,
        advertise,
        known,
        tuple(public_host or ()),
        replication_factor,
        certificate,
        key,
        config.security_settings,
        sign_in,
        requests_per_second,
    )
    settings.check(insecure_http=insecure_http)
    received = run_async(serve(settings, ParsedChecks()))
    is_term = received == signal.SIGTERM
    return exit_codes.TERMINATED if is_term else exit_codes.INTERRUPTED


def _parse_listen(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"--listen {text}: expected HOST:PORT, as localhost:8081")
    return host.strip("[]") or "127.0.0.1", int(port)


def _check_url(text: str, option: str) -> None:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{option} {text}: a URL such as http://a:8081")
