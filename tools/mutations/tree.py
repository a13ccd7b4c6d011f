"""A copy of the repository with its own small environment, to mutate and test.

The environment is a virtual one without packages: a `.pth` file names the copy's `src` and the
packages of the environment that runs this tool. So everything, also a subprocess with a bare
environment, imports `barnabas` from the copy, and nothing has to be installed.
"""

import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path

from tools.mutations.mutation import Mutation

ROOT = Path(__file__).parents[2]


class Tree:
    """The copy."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.python = root / ".venv" / "bin" / "python"
        _copy_sources(root)
        _make_environment(root)
        self._check_imports()

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """The copy has the fault inside the block, and the original text after it."""
        path = mutation.path(self.root)
        original = path.read_text()
        self._write(path, mutation.mutate(original))
        try:
            yield
        finally:
            self._write(path, original)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        # Python compares seconds and sizes: two versions may look the same.
        Path(cache_from_source(path)).unlink(missing_ok=True)

    def _check_imports(self) -> None:
        """A copy that tests the original sources would let every mutation survive."""
        code = "import barnabas.log, sys; print(barnabas.log.__file__, sys.prefix)"
        output = subprocess.run(
            [self.python, "-c", code], check=True, env={}, cwd="/", capture_output=True, text=True
        ).stdout.split()
        expected = [self.root / "src/barnabas/log/__init__.py", self.root / ".venv"]
        if [Path(each) for each in output] != expected:
            raise RuntimeError(f"the copy imports {output}, expected {expected}")


def _copy_sources(root: Path) -> None:
    """What git knows or would add, and the compiled kernels, which it ignores."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    files = [ROOT / name for name in listing.split("\0") if name]
    for file in [*files, *(ROOT / "src").rglob("*.so")]:
        if file.is_file():
            target = root / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)


def _make_environment(root: Path) -> None:
    target = root / ".venv"
    venv.create(target, symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": target, "platbase": target})
    Path(packages, "mutations.pth").write_text(f"{root / 'src'}\n{sysconfig.get_path('purelib')}\n")
    (target / ".installed").touch()  # for make, which would install everything
    scripts = Path(sys.executable).parent
    for script in scripts.iterdir():
        link = target / "bin" / script.name
        if link.exists() or script.is_dir():
            continue
        first = script.read_bytes()[:2000]
        if first.startswith(b"#!") and str(scripts).encode() in first:
            link.write_bytes(
                script.read_bytes().replace(str(scripts).encode(), str(link.parent).encode())
            )
            link.chmod(0o755)
        else:
            link.symlink_to(script)
