"""`barnabas connect run`: the service in the foreground."""

import logging
import signal
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.base import exit_codes
from barnabas.cli.base.command import CLUSTER, CommonOptions, Report, UsageError, command
from barnabas.cli.base.pairs import parse_pairs
from barnabas.cli.connect.rights import ConfigsTopic, Group, PipelinesFolder, StatusTopic

EPILOG = """\b
Examples:
  barnabas connect run
  barnabas connect run --port 8084                       # stands by for the first
  barnabas connect run --checkpoints /shared/connect --host 0.0.0.0 --advertise http://a:8083 \
      --instances http://a:8083,http://b:8083
  barnabas connect run --memory 4g --conf spark.sql.shuffle.partitions=8
"""


@command(*CLUSTER)
def run(
    common: CommonOptions,
    checkpoints: Annotated[
        str,
        typer.Option(
            metavar="DIR", help="Checkpoint directory, shared by all instances for takeover."
        ),
    ] = ".barnabas/connect",
    pipelines: PipelinesFolder = Path(),
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Port of the REST API.")
    ] = 8083,
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="URL for other instances. Default: host and port.",
            show_default=False,
        ),
    ] = None,
    group: Group = "connect",
    configs_topic: ConfigsTopic = "connect-configs",
    status_topic: StatusTopic = "connect-status",
    replication_factor: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Replicas of both topics. Default: that of the brokers.",
            show_default=False,
        ),
    ] = None,
    master: Annotated[
        str, typer.Option(metavar="URL", help="Spark master; this machine by default.")
    ] = "local[*]",
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Heap of a Spark driver, such as 2g. Default: Spark's, 1g.",
            show_default=False,
        ),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", "-c", metavar="NAME=VALUE", help="Spark setting; may be repeated."),
    ] = None,
    restarts: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Failures in a row before a connector is FAILED."),
    ] = 10,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Run connectors with SQL, classes, files or Spark settings of their own.",
        ),
    ] = False,
    instances: Annotated[
        str | None,
        typer.Option(
            metavar="URL,URL",
            help="URLs of all instances. Default: only those that listen on localhost.",
            show_default=False,
        ),
    ] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Other host name of the REST API; may be repeated."),
    ] = None,
    report: Report = True,
) -> int:
    """Run connectors until Ctrl-C or SIGTERM, or stand by for the instance that does.

    Connectors are managed by Kafka Connect's REST API, and by the other commands here.
    """
    if not pipelines.is_dir():
        raise UsageError(f"--pipelines {pipelines} is not a directory")
    if advertise is not None:
        _check_url(advertise)
    known = tuple(each.strip() for each in (instances or "").split(",") if each.strip())
    for each in known:
        _check_url(each, "--instances")
    from barnabas.cli.base.runner import run_async
    from barnabas.cli.base.spark_master import check_master
    from barnabas.connect.service import serve
    from barnabas.connect.settings import ServiceSettings

    given = parse_pairs(conf or [], "--conf")
    check_master(master, given)
    level = logging.DEBUG if common.verbose else logging.INFO
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("barnabas.connect").setLevel(level)
    config = common.client_config()
    config.security()  # wrong settings are found before anything starts
    settings = ServiceSettings(
        config.bootstrap,
        checkpoints,
        pipelines,
        host,
        port,
        advertise,
        group,
        configs_topic,
        status_topic,
        replication_factor,
        master,
        given,
        memory,
        restarts,
        report,
        security=config.security_settings,
        allow_code=allow_code,
        instances=known,
        public_hosts=tuple(public_host or ()),
    )
    received = run_async(serve(settings))
    is_term = received == signal.SIGTERM
    return exit_codes.TERMINATED if is_term else exit_codes.INTERRUPTED


def _check_url(text: str, option: str = "--advertise") -> None:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{option} {text}: a URL such as http://a:8083, or https://a if a proxy with TLS is "
            "before it"
        )
