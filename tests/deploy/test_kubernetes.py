"""The Kubernetes manifests: `kubectl kustomize` builds them, their parts fit each other, and their commands prove.

Plain processes stand in for pods: each runs the command of its container, with other folders, ports and addresses.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from graphprover.cli.main import main
from graphprover.runtime.errors import OK
from graphprover.service.tokens import add_token, read_tokens
from tests.deploy.images import ROOT, stages
from tests.deploy.processes import Processes
from tests.service.running import free_port

MANIFESTS = ROOT / "deploy/kubernetes"
KUBECTL = shutil.which("kubectl")
COMPONENTS = ("service", "scheduler", "worker")

Manifest = dict[str, Any]


def files(folder: Path) -> list[Manifest]:
    """Return the resources of a folder as they are written."""
    names = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    return [one for name in names for one in yaml.safe_load_all((folder / name).read_text())]


def built(name: str, folder: Path) -> list[Manifest]:
    """Return the resources of ``kubectl kustomize``, with a file of tokens."""
    copy = shutil.copytree(MANIFESTS, folder / "manifests", dirs_exist_ok=True)
    if not (copy / "base/tokens").exists():
        add_token(copy / "base/tokens", "alice")
    assert KUBECTL
    done = subprocess.run([KUBECTL, "kustomize", str(copy / name)], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


def deployments(resources: list[Manifest]) -> dict[str, Manifest]:
    """Return the deployments by component."""
    found = [one for one in resources if one["kind"] == "Deployment"]
    return {one["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]: one for one in found}


def pod(deployment: Manifest) -> Manifest:
    spec: Manifest = deployment["spec"]["template"]["spec"]
    return spec


def container(deployment: Manifest) -> Manifest:
    (found,) = pod(deployment)["containers"]
    return dict(found)


BASE = deployments(files(MANIFESTS / "base"))


@pytest.fixture(params=["base", "cuda"])
def resources(request: pytest.FixtureRequest, tmp_path: Path) -> list[Manifest]:
    """Return the resources of an overlay, or of the base."""
    if KUBECTL is None:
        pytest.skip("kubectl is not installed")
    return built(request.param, tmp_path)


def test_parts_fit_each_other(resources: list[Manifest]) -> None:
    """Volumes have their claims and secrets, services and policies their pods, probes their ports."""
    names = {(one["kind"], one["metadata"]["name"]) for one in resources}
    found = deployments(resources)
    assert tuple(sorted(found)) == tuple(sorted(COMPONENTS))
    for deployment in found.values():
        spec, own = pod(deployment), container(deployment)
        ports = {port["name"] for port in own["ports"]}
        assert {own[probe]["httpGet"]["port"] for probe in own if probe.endswith("Probe")} == {"http"} <= ports
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        assert {mount["name"] for mount in own["volumeMounts"]} == volumes.keys()
        for volume in volumes.values():
            if "secret" in volume:
                assert ("Secret", volume["secret"]["secretName"]) in names
            if "persistentVolumeClaim" in volume:
                assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in names
    for service in (one for one in resources if one["kind"] == "Service"):
        (target,) = (one for one in found.values() if labels(one).items() >= service["spec"]["selector"].items())
        ports = {port["name"]: port["containerPort"] for port in container(target)["ports"]}
        assert all(ports[port["targetPort"]] == port["port"] for port in service["spec"]["ports"])
        assert service["metadata"]["name"] in ("graphprover", "graphprover-scheduler")
    selected = [one["spec"]["podSelector"]["matchLabels"] for one in resources if one["kind"] == "NetworkPolicy"]
    own = {"app.kubernetes.io/name": "graphprover"}
    assert sorted(selected, key=len) == [own, own | {"app.kubernetes.io/component": "service"}]
    assert all(labels(one).items() >= own.items() for one in found.values())


def labels(deployment: Manifest) -> dict[str, str]:
    found: dict[str, str] = deployment["spec"]["template"]["metadata"]["labels"]
    return found


def test_pods_have_no_rights_and_write_to_volumes_only(resources: list[Manifest]) -> None:
    """They run as the user of the image, and folders that the image names are volumes."""
    image = stages()[1]["graphprover"]
    (user,) = image.texts("USER")
    for name, deployment in deployments(resources).items():
        spec, own = pod(deployment), container(deployment)
        context = spec["securityContext"] | own["securityContext"]
        assert context["runAsNonRoot"] and f"{context['runAsUser']}:{context['fsGroup']}" == user
        assert context["readOnlyRootFilesystem"] and context["capabilities"] == {"drop": ["ALL"]}
        assert not context["allowPrivilegeEscalation"] and not spec["automountServiceAccountToken"]
        mounts = {mount["mountPath"] for mount in own["volumeMounts"]}
        assert "/tmp" in mounts and (name == "scheduler" or "/cache" in mounts)


def test_gpus_are_for_workers_only(tmp_path: Path) -> None:
    if KUBECTL is None:
        pytest.skip("kubectl is not installed")
    cpu, cuda = (deployments(built(name, tmp_path)) for name in ("base", "cuda"))
    gpus = {name: container(one)["resources"].get("limits", {}).get("nvidia.com/gpu") for name, one in cuda.items()}
    assert gpus == {"service": None, "scheduler": None, "worker": 1}
    assert {container(one)["image"] for one in cuda.values()} == {"registry.example/graphprover:cuda13"}
    assert {container(one)["image"] for one in cpu.values()} == {"registry.example/graphprover:latest"}
    before, after = container(cpu["worker"])["args"], container(cuda["worker"])["args"]
    changed = [pair for pair in zip(before, after, strict=True) if len(set(pair)) > 1]
    assert changed == [("--nworkers=1", "--nworkers=8"), ("--nthreads=4", "--nthreads=1")]
    assert container(cuda["service"])["args"] == [*container(cpu["service"])["args"], "--device=cuda"]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Processes, dict[str, int]]]:
    """Run the commands of all containers, and return the processes and the ports of their servers."""
    ports = {name: free_port() for name in ("8750", "8786", "8787", "8790")}
    places = {
        "graphprover-scheduler": "127.0.0.1",
        "0.0.0.0": "127.0.0.1",
        "/data": str(tmp_path / "data"),
        "/etc/graphprover": str(tmp_path),
        "=/tmp": f"={tmp_path}",
        "=:": "=127.0.0.1:",
        "--nthreads=4": "--nthreads=1",
    } | {name: str(port) for name, port in ports.items()}
    used = set[str]()

    def place(found: re.Match[str]) -> str:
        used.add(found[0])
        return places[found[0]]

    def here(word: str) -> str:
        return re.sub("|".join(map(re.escape, places)), place, word)

    add_token(tmp_path / "other", "bob")
    Path(tmp_path / "token").write_text(add_token(tmp_path / "tokens", "alice"))
    with Processes(tmp_path) as processes:
        for name in ("scheduler", "worker", "service"):
            processes.start([here(word) for word in container(BASE[name])["args"]])
        assert used == places.keys()
        yield processes, ports


def test_the_commands_of_the_pods_make_a_proof(
    running: tuple[Processes, dict[str, int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    processes, ports = running
    for name in COMPONENTS:
        own = container(BASE[name])
        numbers = {port["name"]: str(port["containerPort"]) for port in own["ports"]}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if get := own.get(probe, {}).get("httpGet"):
                url = f"http://127.0.0.1:{ports[numbers[get['port']]]}{get['path']}"
                processes.until(lambda url=url: urlopen(url).status == 200)
    monkeypatch.chdir(tmp_path)
    guest = str(ROOT / "examples/guests/fib_iterative.elf")
    Path("turns").write_bytes(bytes([9] + [0] * 7))
    submit = ["submit", guest, "--input", "turns", "--url", f"http://127.0.0.1:{ports['8750']}"]
    assert main([*submit, "--token-file", "token", "-o", "proof.bin", "--json"]) == OK
    job = json.loads(capsys.readouterr().out)["job"]
    assert job["state"] == "done" and job["worker"].startswith("tcp://")
    assert main(["verify", "proof.bin", guest]) == OK and capsys.readouterr().out.endswith("valid\n")
    assert read_tokens(tmp_path / "tokens").keys() == {"alice"}
