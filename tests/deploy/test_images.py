"""The Dockerfile: its context has the sources, its commands exist, and its service starts and passes the health check.

No Docker daemon is necessary. The slow test installs the package by the Dockerfile's own commands.
"""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from graphprover.service.tokens import add_token
from tests.deploy.images import ROOT, in_context, stages
from tests.deploy.processes import ENVIRONMENT, PATH, Processes
from tests.service.running import free_port
from tests.test_distributions import files_in

ARGUMENTS, STAGES = stages()
SOURCES = ("graphprover", "graphs", "kernels", "examples")
FILES = {"LICENSE", "README.md", "pyproject.toml", "setup.cfg", "setup.py"}  # that the build of a wheel reads


def extras() -> dict[str, str]:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return dict(setup["options.extras_require"])


def test_the_context_has_the_sources_and_no_more() -> None:
    tracked = {name for folder in SOURCES for name in (f"{folder}/{file}" for file in files_in(ROOT / folder))}
    built = re.compile(r"(^|/)(__pycache__|target)(/|$)|\.nb[ci]$")
    shipped = {name for name in tracked if not built.search(name)}
    assert {name for name in tracked if in_context(name)} == shipped
    assert len(shipped) > 500 and all(map(in_context, FILES))
    assert {path.name for path in ROOT.iterdir() if in_context(path.name)} == FILES | set(SOURCES)


def test_every_base_is_pinned_and_no_image_has_root_or_build_tools() -> None:
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", ARGUMENTS["PYTHON"])
    version = ARGUMENTS["PYTHON"].removeprefix("python:").rsplit(".", 1)[0]
    classifiers = (ROOT / "setup.cfg").read_text()
    assert f"Python :: {version}\n" in classifiers
    assert [stage.base for stage in STAGES.values()] == ["${PYTHON}", "${PYTHON}", "graphprover"]
    image = STAGES["graphprover"]
    (user,) = image.texts("USER")
    assert user == "10001:10001" and f"--uid {user.partition(':')[0]}" in image.texts("RUN")[0]
    for stage in (image, STAGES["service"]):
        assert not any(re.search(r"\b(apt-get|pip|gcc|curl)\b", text) for text in stage.texts("RUN"))
    assert image.texts("COPY") == ["--from=build /opt/graphprover /opt/graphprover"]


def test_the_extras_exist() -> None:
    given = [ARGUMENT.partition("=")[2] for ARGUMENT in STAGES["build"].texts("ARG")]
    given += re.findall(r"EXTRAS=([\w,]+)", (ROOT / "Dockerfile").read_text() + (ROOT / "docs/deploy.md").read_text())
    assert len(given) > 2 and all(set(one.split(",")) <= extras().keys() for one in given)
    assert "[${EXTRAS}]" in "".join(STAGES["build"].texts("RUN"))


@pytest.mark.skipif(shutil.which("hadolint", path=PATH) is None, reason="hadolint is not installed")
def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(["hadolint", "Dockerfile"], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_service_starts_and_is_healthy_until_it_ends(tmp_path: Path) -> None:
    """Run the image's command with other folders and another port, and its health check beside it."""
    port = free_port()
    add_token(tmp_path / "tokens", "alice")
    places = {"/etc/graphprover/tokens": tmp_path / "tokens", "/data": tmp_path / "data", "0.0.0.0": "127.0.0.1"}
    command = [str(places.get(word, word)) for word in STAGES["service"].command()]
    assert set(places) <= set(STAGES["service"].command())
    assert STAGES["service"].texts("EXPOSE") == ["8750"]
    check = STAGES["service"].command("HEALTHCHECK")
    assert "127.0.0.1:8750/" in check[-1]
    healthy = [sys.executable, *check[1:-1], check[-1].replace("8750", str(port))]
    with Processes(tmp_path) as processes:
        service = processes.start([*command, "--port", str(port), "--executor", "threads", "--device", "cpu"])
        processes.until(lambda: urlopen(f"http://127.0.0.1:{port}/healthz").status == 200)
        assert subprocess.run(healthy).returncode == 0
        service.terminate()
        assert service.wait(600) == 143
    assert subprocess.run(healthy, capture_output=True).returncode != 0


@pytest.mark.slow
def test_the_commands_of_the_build(tmp_path: Path) -> None:
    """Run the commands of the first stage on the context, in another folder, and prove by the result."""
    context, place = tmp_path / "context", tmp_path / "graphprover"
    for name in files_in(ROOT):
        if in_context(name):
            (context / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, context / name, follow_symlinks=False)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    environment |= [word.split("=") for text in STAGES["build"].texts("ENV") for word in text.split()]  # type: ignore[misc]
    environment["EXTRAS"] = STAGES["build"].texts("ARG")[0].partition("=")[2]
    for command in STAGES["build"].texts("RUN"):
        text = command.replace("/opt/graphprover", shlex.quote(str(place)))
        subprocess.run(["bash", "-ec", text], cwd=context, env=environment, check=True)
    guest = str(ROOT / "examples/guests/fib_iterative.elf")
    (tmp_path / "turns").write_bytes(bytes([9] + [0] * 7))
    own = [str(place / "bin/graphprover")]
    subprocess.run([*own, "prove", guest, "--input", "turns"], cwd=tmp_path, env=environment, check=True)
    done = subprocess.run([*own, "verify", "proof.bin", guest], cwd=tmp_path, env=environment, capture_output=True)
    assert done.stdout.endswith(b"valid\n")


def test_the_commands_of_the_page_name_stages() -> None:
    found = re.findall(r"docker build --target (\S+) ", (ROOT / "docs/deploy.md").read_text())
    assert set(found) == {"service", "graphprover"} <= STAGES.keys()
