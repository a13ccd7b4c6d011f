"""Builds the documentation site: `make site`.

The pages are those at the root of the repository and docs/, as they are there. SECURITY.md is not
among them: where upper case does not count, it would replace docs/security.md. A file that they
link to and that is not a page, such as an example, becomes a page that shows its source. Links are
rewritten to where their targets are on the site. Each page of the API reference names a module,
and the generator fills it from the docstrings. A broken link fails the build.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "site"
PAGES = WORK / "pages"
OUTPUT = ROOT / "site"
CONFIG = ROOT / "tools" / "site.toml"

API = {
    "barnabas": """Producer Consumer Queue App Table Admin Message Sent Delivery QueueMessage
        Acknowledgement Depends Outgoing SentTo TopicPartition TopicDescription GroupDescription
        ConfigEntry ClusterDescription""",
    "barnabas.aio": "Producer Consumer Queue Table Admin transaction.Transaction streams.Stream",
    "barnabas.sync": "transaction.Transaction streams.Stream",
    "barnabas.errors": "",
    "barnabas.formats": "",
    "barnabas.embedded": """cluster.Cluster pytest_plugin.barnabas_cluster
        pytest_plugin.barnabas_topic pytest_plugin.barnabas_fault errors.ClusterError""",
    "barnabas.spark": "",
    "barnabas.spark.pipelines": "",
    "barnabas.spark.testing": "",
}
"""Pages of the API reference: a module, and the names to describe; if none, all of them."""

_LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")
_LANGUAGES = {".py": "python", ".sql": "sql", ".toml": "toml"}
_IMAGES = {".svg", ".png"}


def main() -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    texts = _documents()
    for source in list(texts):
        for target in _targets(source, texts[source]):
            if target.suffix in _IMAGES:
                _write(_place(target), (ROOT / target).read_bytes())
            elif target not in texts and (ROOT / target).exists():
                texts[target] = _listing(target)
    for source, text in texts.items():
        _write(_place(source), _relink(source, text).encode())
    for module, names in API.items():
        objects = [f"{module}.{name}" for name in names.split()] or [module]
        page = "\n\n".join([f"# {module}", *(f"::: {each}" for each in objects), ""])
        _write(PurePosixPath(f"api/{module}.md"), page.encode())
    (WORK / "zensical.toml").write_text(CONFIG.read_text().replace("@SRC@", str(ROOT / "src")))
    generator = Path(sys.executable).with_name("zensical")
    if done := subprocess.run([generator, "build", "--strict"], cwd=WORK, check=False).returncode:
        raise SystemExit(done)
    shutil.move(WORK / "html", OUTPUT)
    print(f"open {OUTPUT.relative_to(ROOT)}/index.html in a browser")


def _documents() -> dict[PurePosixPath, str]:
    """The text of each page, by its path in the repository."""
    top = [path for path in sorted(ROOT.glob("*.md")) if path.name != "SECURITY.md"]
    paths = [*top, *sorted((ROOT / "docs").rglob("*.md"))]
    return {PurePosixPath(path.relative_to(ROOT).as_posix()): path.read_text() for path in paths}


def _targets(source: PurePosixPath, text: str) -> Iterator[PurePosixPath]:
    for link in _LINK.findall(text):
        yield _resolve(source, link)


def _resolve(source: PurePosixPath, link: str) -> PurePosixPath:
    return PurePosixPath(os.path.normpath(source.parent / link))


def _listing(target: PurePosixPath) -> str:
    """A page with the source of a file, or of all text files of a directory."""
    path = ROOT / target
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in _LANGUAGES)
    parts = [f"# {target}\n"]
    for file in files:
        if file != path:
            parts.append(f"## {file.relative_to(path)}\n")
        parts.append(f"````{_LANGUAGES.get(file.suffix, 'text')}\n{file.read_text()}````\n")
    return "\n".join(parts)


def _place(source: PurePosixPath) -> PurePosixPath:
    """Where on the site a file of the repository is."""
    if source == PurePosixPath("README.md"):
        return PurePosixPath("index.md")
    if source.parts[0] == "docs":
        source = source.relative_to("docs")
        return source.with_name("index.md") if source.name == "README.md" else source
    return source if source.suffix == ".md" else source.with_name(f"{source.name}.md")


def _relink(source: PurePosixPath, text: str) -> str:
    here = _place(source).parent

    def rewrite(link: re.Match[str]) -> str:
        return os.path.relpath(_place(_resolve(source, link[1])), here)

    return _LINK.sub(rewrite, text) if source.suffix == ".md" else text


def _write(place: PurePosixPath, content: bytes) -> None:
    path = PAGES / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    main()
