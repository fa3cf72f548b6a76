"""The benchmarks in scripts/ start from any folder, only print help for --help, and match the documents.

scripts/ and tests/ do not import each other.
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
COMMANDS = [script for script in SCRIPTS if "__main__" in script.read_text()]
# Run with python -m.
MODULES = (
    "tests.mutate_proofs",
    "tests.recursion.mutate_layers",
    "tests.recursion.mutate_program",
    "tests.recursion.remove_checks",
    "tests.vm.mutate_tables",
    "tests.vm.remove_constraints",
    "tests.cli.fuzz_batch",
    "tests.cluster.stress_faults",
    "tests.service.resilience",
    "tests.test_counts",
    "tests.vectors.make",
    "tests.conformance.make",
)  # run with python -m


# Prints what each command prints for --help, of scripts from a folder that is not theirs.
HELP = """
import contextlib, io, json, runpy, sys
scripts, folder, modules, root = json.loads(sys.argv[1])
printed = {}
for names, run, path in ((scripts, runpy.run_path, folder), (modules, runpy.run_module, root)):
    sys.path.insert(0, path)
    for name in names:
        sys.argv, output, code = [name, "--help"], io.StringIO(), None
        try:
            with contextlib.redirect_stdout(output):
                run(name, run_name="__main__")
        except SystemExit as ended:
            code = ended.code
        assert code == 0, (name, code)
        printed[name] = output.getvalue()
print(json.dumps(printed))
"""


@cache
def help_of_all() -> dict[str, str]:
    """Return what all scripts and modules print for --help, from one process that runs them one after another."""
    given = json.dumps([[*map(str, COMMANDS)], str(ROOT / "scripts"), MODULES, str(ROOT)])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", HELP, given], cwd="/", env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("script", COMMANDS, ids=lambda script: script.stem)
def test_help_of_a_script_is_help(script: Path) -> None:
    printed = help_of_all()[str(script)]
    assert printed.startswith(f"usage: {script.name}")
    documented = ast.get_docstring(ast.parse(script.read_text()))
    assert documented and documented.splitlines()[0] in printed
    assert f"python scripts/{script.name}" in documented


@pytest.mark.parametrize("module", MODULES)
def test_help_of_a_long_test_is_help(module: str) -> None:
    printed = help_of_all()[module]
    assert printed.startswith("usage:") and f"python -m {module}" in printed


def documented_commands() -> Iterator[tuple[Path, str, str]]:
    """Yield each ``python scripts/...`` and ``python -m tests...`` of the documents: document, command, arguments."""
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        text = document.read_text()
        for command, arguments in re.findall(r"python3? (scripts/\w+\.py|-m tests[\w.]+)([^`\n#]*)", text):
            yield document, command, arguments


def test_documents_name_commands_and_options_that_exist() -> None:
    found = list(documented_commands())
    assert found
    for document, command, arguments in found:
        if command.startswith("scripts/"):
            assert ROOT / command in COMMANDS, (document.name, command)
            printed = help_of_all()[str(ROOT / command)]
        else:
            module = command.split()[1]
            assert module in MODULES, (document.name, command)
            printed = help_of_all()[module]
        own, _, of_another = arguments.partition(" -- ")  # a script that runs another is given its command so
        for option in re.findall(r"--[a-z-]+", own):
            assert option in printed, (document.name, command, option)
        if of_another.startswith("scripts/"):
            other, *options = of_another.split()
            for option in filter(re.compile(r"--[a-z-]+").fullmatch, options):
                assert option in help_of_all()[str(ROOT / other)], (document.name, other, option)


def test_every_benchmark_prints_json_lines() -> None:
    """Print only through ``figures``, except JSON itself."""
    for script in COMMANDS:
        if script.stem.startswith("bench_"):
            assert "--json" in help_of_all()[str(script)], script
        if script.stem.startswith("bench_") and script.stem != "bench_abba":
            assert not re.search(r"\bprint\((?!json)", script.read_text()), script


def test_figures_are_json_lines() -> None:
    script = str(ROOT / "scripts/bench_prove.py")
    command = [sys.executable, script, "--from", "3", "--to", "4", "--repeat", "1", "--width", "9", "--json"]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert [figure["name"] for figure in figures][:4] == [
        "prove 2^3",
        "verify 2^3",
        "peak of the plan 2^3",
        "proof size 2^3",
    ]
    assert len(figures) == 8 and all(figure["value"] > 0 and figure["parameters"]["width"] == 9 for figure in figures)


def imported_by(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_tests_and_scripts_do_not_import_each_other() -> None:
    scripts = {"scripts", *(script.stem for script in SCRIPTS)}
    for folder, others in (("scripts", {"tests"}), ("tests", scripts)):
        for file in (ROOT / folder).rglob("*.py"):
            assert not {name.partition(".")[0] for name in imported_by(file)} & others, file


def test_shared_code_of_the_scripts_is_found_without_installing_the_package(tmp_path: Path) -> None:
    """Find the package beside scripts/ by ``checkout``, in this process and in the processes that it starts."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "graphprover.py").write_text("")
    (tmp_path / "scripts/checkout.py").write_text((ROOT / "scripts/checkout.py").read_text())
    child = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import graphprover as g; print(g.__file__)'])"
    )
    (tmp_path / "scripts/bench.py").write_text(
        f"import checkout, graphprover\nprint(graphprover.__file__, flush=True)\n{child}"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "scripts/bench.py")], cwd="/", capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(tmp_path / "graphprover.py")] * 2
