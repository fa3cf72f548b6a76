"""Alerts, dashboard and scaling name only metrics and labels that the service or its workers have."""

import io
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from prometheus_client.metrics_core import Metric

from graphprover.cluster.metrics import _Prometheus
from graphprover.service.database import connect
from graphprover.service.metrics import ServiceMetrics
from graphprover.service.queue import Queue
from graphprover.service.states import DONE
from graphprover.service.supervisor import Supervisor
from tests.deploy.images import ROOT
from tests.service.quiet import config_in

DEPLOY = ROOT / "deploy"
ALERTS, DASHBOARD = DEPLOY / "prometheus/alerts.yaml", DEPLOY / "grafana/graphprover.json"
OF_PROMETHEUS = {"job", "instance", "le"}  # labels
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
SELECTOR = re.compile(r"\b((?:graphprover|process)_\w+)(?:\{([^}]*)\})?")
FUNCTIONS = {"sum", "min", "max", "rate", "increase", "absent", "histogram_quantile", "by", "and"}


@pytest.fixture
def exported(tmp_path: Path) -> dict[str, set[str]]:
    """Return the labels of each time series of the service and its workers, by its name."""
    config = config_in(tmp_path)
    queue = Queue(connect(config.database))
    metrics = ServiceMetrics(queue, Supervisor(config, queue, io.StringIO(), lambda: None))
    metrics.request_ended("GET", "/", 200, 0.1)
    metrics.callbacks.labels("taken").inc()
    times = {"created": 1.0, "started": 2.0, "ended": time.time()}
    row: Any = SimpleNamespace(state=DONE, from_store=False, attempts=1, **times)
    metrics.job_ended(row)
    found: dict[str, set[str]] = {}
    families: list[Metric] = [*metrics._registry.collect(), *_Prometheus().collect()]
    for family in families:
        labels = set(getattr(family, "_labelnames", ())) | {name for one in family.samples for name in one.labels}
        for suffix in SUFFIXES.get(family.type, ()):
            found.setdefault(f"{family.name}{suffix}", set()).update(labels)
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def expressions() -> Iterator[str]:
    """Yield all expressions of the files."""
    yield from (rule["expr"] for rule in rules())
    yield from (target["expr"] for panel in panels() for target in panel["targets"])
    (trigger,) = yaml.safe_load((DEPLOY / "kubernetes/keda.yaml").read_text())["spec"]["triggers"]
    yield trigger["metadata"]["query"]


def test_each_metric_and_label_exists(exported: dict[str, set[str]]) -> None:
    used = set()
    for expression in expressions():
        selectors = SELECTOR.findall(expression)
        assert selectors, expression
        for name, matchers in selectors:
            used.add(name)
            assert name in exported, (name, expression)
            labels = set(re.findall(r'(\w+)\s*(?:=~|!=|!~|=)\s*"', matchers))
            assert labels <= exported[name] | OF_PROMETHEUS, (labels, expression)
        grouped = {label for labels in re.findall(r"by \(([^)]*)\)", expression) for label in re.split(", *", labels)}
        assert grouped <= OF_PROMETHEUS.union(*(exported[name] for name, _ in selectors)), expression
    assert {"graphprover_proved_cycles_total", "graphprover_cycles_total", "graphprover_jobs"} <= used


@pytest.mark.parametrize("expression", [*expressions()])
def test_an_expression_has_the_form_of_a_query(expression: str) -> None:
    plain = re.sub(r'"[^"]*"', '""', expression)
    for opening, closing in ("()", "[]", "{}"):
        assert plain.count(opening) == plain.count(closing), expression
    assert all(re.fullmatch(r"\d+[smhd]|\$__rate_interval", range) for range in re.findall(r"\[([^\]]*)\]", plain))
    assert set(re.findall(r"([a-z_]+) ?\(", SELECTOR.sub("", plain))) <= FUNCTIONS, expression
    for counter in re.findall(r"(\w+_(?:total|bucket|count))\b(?!\w)", plain):
        assert re.search(rf"(?:rate|increase)\({counter}\b[^()]*\[", plain), f"{counter} without its rate"


def test_alerts_have_all_that_prometheus_needs() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) and all(name.startswith("Graphprover") for name in names)
    for rule in rules():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}
        assert re.fullmatch(r"\d+m", rule.get("for", "1m"))


def test_panels_have_places_of_their_own() -> None:
    places = [panel["gridPos"] for panel in panels()]
    taken = set()
    for at in places:
        own = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not own & taken and at["x"] + at["w"] <= 24
        taken |= own
    assert len({panel["id"] for panel in panels()}) == len(places)


def test_the_scaled_deployment_exists() -> None:
    scaled = yaml.safe_load((DEPLOY / "kubernetes/keda.yaml").read_text())["spec"]["scaleTargetRef"]["name"]
    worker = next(yaml.safe_load_all((DEPLOY / "kubernetes/base/worker.yaml").read_text()))
    assert (worker["kind"], worker["metadata"]["name"]) == ("Deployment", scaled)


def test_prometheus_accepts_all_expressions(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    variables = {"$__rate_interval": "5m", "$instance": ".*"}  # of Grafana
    plain = [re.sub(r"\$\w+", lambda found: variables[found[0]], each) for each in expressions()]
    recorded = [{"record": f"own:{number}", "expr": each} for number, each in enumerate(plain)]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": recorded}]}))
    config = yaml.safe_load((DEPLOY / "prometheus/scrape.yaml").read_text())
    for job in config["scrape_configs"]:
        job.pop("kubernetes_sd_configs", None)  # not in every build of Prometheus
    (tmp_path / "scrape.yaml").write_text(yaml.safe_dump(config))
    files = (["rules", ALERTS], ["rules", tmp_path / "all.yaml"], ["config", "--syntax-only", tmp_path / "scrape.yaml"])
    for command in files:
        done = subprocess.run([promtool, "check", *command], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
