"""The crate in examples/ere proves by the traits of eth-act/ere, with the command line and with a service."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover.service.tokens import add_token
from tests.interop.plonky3 import REQUIRE
from tests.service.running import Service

ROOT = Path(__file__).parents[2]
CRATE = ROOT / "examples/ere"
TESTS = 7  # of the crate


def cargo() -> str:
    """Return the program, or skip the calling test (see REQUIRE)."""
    found = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo/bin"))
    if found is None:
        if os.environ.get(REQUIRE) == "1":
            pytest.fail(f"{REQUIRE}=1, but there is no cargo to build {CRATE} with")
        pytest.skip(f"no cargo to build {CRATE} with")
    return found


@pytest.mark.slow
def test_the_adapter(tmp_path: Path) -> None:
    """Run the tests of the crate."""
    program, service = tmp_path / "graphprover", Service(tmp_path, add_token(tmp_path / "tokens", "ere"))
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m graphprover "$@"\n')
    program.chmod(0o755)
    command = [cargo(), "test", "--locked", "--", "--include-ignored"]
    service.start("--executor", "threads", "--device", "cpu", "--tokens", str(tmp_path / "tokens"))
    own = {"GRAPHPROVER": str(program), "PYTHONPATH": str(ROOT), "ERE_SERVICE": service.url}
    own["ERE_TOKEN"] = service.token or ""
    done = subprocess.run(command, cwd=CRATE, env=os.environ | own, capture_output=True, text=True, timeout=600)
    assert service.end() == 143
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(map(int, re.findall(r"test result: ok\. (\d+) passed; 0 failed; 0 ignored", done.stdout))) == TESTS


def test_the_interface_has_the_version_of_ere_that_the_crate_names() -> None:
    """The commit and the version of the manifest belong together: docs/ere.md names both."""
    manifest, page = (CRATE / "Cargo.toml").read_text(), (ROOT / "docs/ere.md").read_text()
    (commit,) = re.findall(r'rev = "([0-9a-f]{40})"', manifest)
    manifests = [path.read_text() for path in CRATE.glob("interface/*/Cargo.toml")]
    (version,) = {re.findall(r'^version = "(.*)"$', text, re.MULTILINE)[0] for text in manifests}
    assert f"ere {version}, commit `{commit[:8]}`" in page
