"""The command `barnabas cluster doctor`."""

from typing import Annotated

import typer

from barnabas.cli.base.command import Session

_CONNECT_MS = 2_000
_REQUEST_MS = 10_000
_RETRY_MS = 2_000
"""What does not answer is a finding, so it is not waited for; a busy node is."""

EPILOG = "Example: barnabas cluster doctor --max-lag 100000"


async def doctor(
    session: Session,
    max_lag: Annotated[
        int, typer.Option(metavar="RECORDS", min=1, help="Group lag above which to warn.")
    ] = 10_000,
    max_disk: Annotated[
        int,
        typer.Option(metavar="PERCENT", min=1, max=100, help="Disk usage above which to warn."),
    ] = 85,
    certificate_days: Annotated[
        int,
        typer.Option(metavar="DAYS", min=1, help="Certificate validity below which to warn."),
    ] = 30,
) -> int:
    """Check everything, and say what to do.

    Looks at nodes, quorum, partitions, disks, clocks, versions, certificates, balance, settings,
    groups, transactions and quotas. Changes nothing. The exit code is 0 if there is nothing to do,
    4 if there are warnings, 1 if something is critical.
    """
    from barnabas.cli.cluster.doctor.report import exit_code_of, print_report
    from barnabas.diagnosis.collect.snapshot import take_snapshot
    from barnabas.diagnosis.examine import examine
    from barnabas.diagnosis.facts import Limits

    async with session.connect(
        retry_timeout_ms=_RETRY_MS, request_timeout_ms=_REQUEST_MS, connect_timeout_ms=_CONNECT_MS
    ) as cluster:
        facts = await take_snapshot(cluster, Limits(max_lag, max_disk, certificate_days))
    findings = examine(facts)
    print_report(facts, findings, as_json=session.as_json)
    return exit_code_of(findings)
