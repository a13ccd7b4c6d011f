"""Certificates of nodes with their expiry, on a cluster with TLS."""

import re
from pathlib import Path
from time import time

import pytest

pytest.importorskip("cryptography")

from playwright.sync_api import expect

import barnabas
from tests.console.browser import WAIT_MS, Visit, chromium
from tests.console.console_process import ConsoleProcess
from tests.support.wait import wait_until

expect.set_options(timeout=WAIT_MS)


def test_certificates_are_shown_with_their_expiry(tmp_path: Path) -> None:
    with barnabas.Cluster(secure=True) as cluster:
        config = tmp_path / "client.properties"
        config.write_text("".join(f"{name}={text}\n" for name, text in cluster.security.items()))
        options = ("--command-config", str(config))
        with ConsoleProcess(cluster.bootstrap_servers, tmp_path / "log", *options) as console:
            (found,) = wait_until(lambda: console.get("/api/cluster")["certificates"])
            assert found["expires_ms"] > time() * 1000
            with chromium() as browser:
                visit = Visit(browser, console.url)
                page = visit.open("/cluster")
                card = page.locator("section", has_text="Certificates")
                expect(card).to_contain_text(f"node {found['node']}")
                expect(card).to_contain_text("expires")
                expect(card.locator(".badge")).to_have_text(re.compile(r"^in \S+ days?$"))
                visit.check()
                visit.close()
