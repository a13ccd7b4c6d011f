"""A Java is found where there is one, and what to do is said where there is none."""

import subprocess
from pathlib import Path

import pytest

from barnabas.spark.sessions import java


def make_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(
        f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nprintf '%s|' \"$@\"\n"
    )
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'none'}")
    monkeypatch.setattr(java, "_carried", lambda: None)


def test_the_one_that_the_user_names_goes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named = make_java(tmp_path / "named", "17.0.15")
    on_path = make_java(tmp_path / "path", "21")
    monkeypatch.setenv("PATH", f"{on_path / 'bin'}:/usr/bin:/bin")
    assert java.java_home() == on_path
    monkeypatch.setenv("JAVA_HOME", str(named))
    assert java.java_home() == named


def test_one_that_is_too_old_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = make_java(tmp_path / "old", "1.8.0_292")
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(java.NoJava, match=r"old \(is 1\).*pip install 'barnabas\[spark\]'"):
        java.java_home()


def test_none_at_all() -> None:
    with pytest.raises(java.NoJava, match="found none"):
        java.java_home()


def test_the_one_that_comes_along_is_not_asked_for_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    carried = make_java(tmp_path / "it's carried", "25")
    monkeypatch.setattr(java, "_carried", lambda: carried)
    home = java.java_home()
    command = [home / "bin" / "java", "-a b", "--add-modules=jdk.incubator.vector", "", "main"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "-a b||main|"
