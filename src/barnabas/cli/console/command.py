"""The command `barnabas console`."""

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base.command import CLUSTER, CommonOptions, command

EPILOG = """\b
Examples:
  barnabas console
  barnabas console --bootstrap kafka-1:9092 --read-only
  barnabas console --listen 0.0.0.0:8443 --sign-in --certificate tls.pem --key tls.key
  barnabas console --oidc-issuer https://idp.example.com --oidc-client-id console
  barnabas console --mask 'payments*:$.card.number' --audit-topic console-audit
"""


@command(*CLUSTER)
def console(
    common: CommonOptions,
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Address to listen on; port 0 takes a free port. Others than localhost need "
            "--sign-in or --oidc-issuer, and --certificate.",
        ),
    ] = "localhost:8080",
    read_only: Annotated[bool, typer.Option("--read-only", help="Allow no changes.")] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address, and open no browser.")
    ] = False,
    sign_in: Annotated[
        bool,
        typer.Option(
            "--sign-in",
            help="Let users sign in as users of the cluster (SASL): its access rules decide what "
            "each may see and change.",
        ),
    ] = False,
    oidc_issuer: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Let users sign in at this OpenID provider; the cluster takes their tokens by "
            "SASL OAUTHBEARER.",
        ),
    ] = None,
    oidc_client_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Id of the console at the provider.")
    ] = None,
    oidc_client_secret_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with its secret, if the provider has given one."),
    ] = None,
    oidc_scopes: Annotated[
        str, typer.Option(metavar="SCOPES", help="Scopes to ask for, openid among them.")
    ] = "openid",
    oidc_user_claim: Annotated[
        str,
        typer.Option(
            metavar="CLAIM",
            help="Claim that names the user, as sasl.oauthbearer.sub.claim.name of the cluster.",
        ),
    ] = "sub",
    oidc_token: Annotated[
        str,
        typer.Option(metavar="access|id", help="Token to present to the cluster."),
    ] = "access",  # noqa: S107 - which one
    mask: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPICS:PART",
            help="Hide a part of records: key, value, headers, header.NAME or $.path.in.json; "
            "may be repeated.",
        ),
    ] = None,
    audit_topic: Annotated[
        str | None,
        typer.Option(metavar="TOPIC", help="Audit topic: every change, and who made it."),
    ] = None,
    connect: Annotated[
        str | None,
        typer.Option(metavar="URL", help="REST API of a Connect service, to show connectors."),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="BARNABAS_REGISTRY",
            help="Schema registry, to show Avro, Protobuf and JSON of its schemas; "
            "https://USER:PASSWORD@HOST signs in.",
        ),
    ] = None,
    pipelines: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Pipelines of this machine, as for `pipeline run`."),
    ] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Another name of this console, say of a proxy; may be repeated."
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate of the console, for HTTPS.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Private key of the certificate.")
    ] = None,
    insecure_http: Annotated[
        bool,
        typer.Option(
            "--insecure-http",
            help="Serve HTTP on addresses other than localhost, behind a proxy with TLS.",
        ),
    ] = False,
) -> int | None:
    """Show a cluster in the browser.

    Runs until Ctrl-C. Needs barnabas[console].
    """
    from barnabas.cli.base.console_extra import check_console_installed
    from barnabas.cli.base.runner import run_async
    from barnabas.cli.console.run import run_console

    check_console_installed()
    from barnabas.console.access.oidc.options import oidc_options
    from barnabas.console.messages.masking import parse_mask
    from barnabas.console.options import ConsoleOptions, parse_listen

    config = common.client_config()
    host, port = parse_listen(listen)
    oidc = oidc_options(
        oidc_issuer,
        oidc_client_id,
        oidc_client_secret_file,
        oidc_scopes,
        oidc_user_claim,
        oidc_token,
    )
    options = ConsoleOptions(
        config.bootstrap,
        config.security_settings,
        host,
        port,
        read_only=read_only,
        sign_in=sign_in or oidc is not None,
        passwords=sign_in,
        oidc=oidc,
        public_hosts=tuple(public_host or ()),
        certificate=certificate,
        key=key,
        insecure_http=insecure_http,
        masks=tuple(map(parse_mask, mask or ())),
        audit_topic=audit_topic,
        connect_url=connect,
        registry_url=registry,
        pipelines=pipelines,
    )
    return run_async(run_console(options, open_browser=not no_browser))
