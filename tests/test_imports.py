"""Imports go one way, from the command line down to the field, without cycles; large dependencies have few importers.

test_packaging.py tests that the verifier runs without these packages.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "graphprover"
LINKED = ("graphs", "kernels", "examples")  # folders of the root that are packages of graphprover

# From the lowest up; a module belongs to the longest matching name, and imports from its own layer and lower ones.
LAYERS = (
    ("field", "__init__", "runtime.extras"),  # arithmetic of the verifier; the public names
    ("runtime",),  # files, settings, signals, the cache of compiled kernels, display of values
    ("air",),  # descriptions of tables
    ("protocol",),  # the protocol of prover and verifier
    ("proof", "statement"),  # proofs and statements
    ("telemetry",),  # observations of proofs
    ("kernels",),  # the arithmetic of the prover
    ("device",),  # the devices of the prover
    ("admission",),  # limits on concurrent proofs
    ("recursion",),  # tables for proofs about proofs, and kernels of their own
    ("verifier",),  # the verification of proofs of every kind
    ("vm",),  # the machine: its statements, and kernels of its own
    ("graphs",),  # the rounds of a proof as tasks
    ("prover",),  # from a statement to a proof, by one device
    ("examples",),  # programs that can be proved
    ("jobs",),  # programs, and requested proofs of their runs, as they are sent to workers
    ("cluster", "worker"),  # tasks of workers, and their results
    ("proving",),  # what a user calls, and the choice of who proves
    ("reports",),  # pages, drawings and texts of plans and observations
    ("service",),  # the proving service
    ("cli", "__main__"),  # the command line
)

UPWARD = {  # upward imports inside functions, with the reason
    ("protocol.hashing", "kernels.cpu.hashes"): "so much hashing that loading the kernels pays",
    ("protocol.arrays", "kernels.cpu.products"): "if the kernels are loaded",
    ("protocol.preprocessed", "device.cpu"): "so much hashing that loading the kernels pays",
    ("statement.statement", "device.choose"): "a caller that asks for traces without a proof names no device",
}

HOMES = {  # the only modules that import large dependencies
    "dask": (
        "runtime.settings",
        "graphs",
        "cli.command_server",
        "cluster",
        "proving.delayed",
        "proving.settings",
        "prover.sharded",
    ),
    "distributed": ("cli.batch", "cli.doctor", "cluster"),
    "numba": (
        "runtime.kernel_source",
        "runtime.numba_cache",
        "runtime.shipped",
        "kernels.cpu",
        "kernels.cuda.enqueue",
    ),
    "llvmlite": (
        "runtime.kernel_source",
        "runtime.numba_cache",
        "kernels.cpu",
        "kernels.cuda.enqueue",
        "vm.executor.pieces",
    ),
    "cupy": (
        "cli.doctor",
        "device",
        "kernels.cuda",
        "recursion.kernels.cuda",
        "vm.accelerators.cuda",
        "vm.accelerators.keccak.cuda",
        "vm.kernels.cuda",
    ),
    "rmm": ("kernels.cuda",),
    "elftools": ("vm.profile.lines",),
    "multi_demangle": ("vm.program.symbols",),
    "rich": ("runtime.display.terminal",),
    "bokeh": ("reports.charts",),
    "shtab": ("cli.completion",),
    "fastapi": ("service.app", "service.dependencies", "service.problems", "service.routes"),
    "fsspec": ("service.store",),
    "h11": ("service.callbacks",),
    "pydantic": ("service.requests",),
    "sqlalchemy": ("service", "cli.serve"),
    "uvicorn": ("service.connections", "service.server"),
}


@dataclass(frozen=True)
class Import:
    """One import of a module."""

    source: str  # the module, without the package's name
    target: str  # a module of this package, or the top-level name of another package
    ours: bool
    inside: bool  # whether inside a function


@cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its name, without the package's."""
    found = {}
    for folder in (PACKAGE, *LINKED):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if folder == PACKAGE and parts[0] in LINKED:
                continue
            found[".".join(parts if folder == PACKAGE else (folder, *parts)).removesuffix(".__init__")] = path
    return found


@cache
def imports() -> tuple[Import, ...]:
    """Return all imports, except imports that only a type checker executes."""
    return tuple(found for name, path in modules().items() for found in imports_of(name, path))


def imports_of(module: str, path: Path) -> Iterator[Import]:
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text()), False)]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in imported_names(node):
                first, _, rest = name.partition(".")
                target = known(rest) if first == PACKAGE else first
                yield Import(module, target, first == PACKAGE, inside)
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]


def imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0 and node.module is not None, "imports are absolute"
    return [f"{node.module}.{alias.name}" for alias in node.names]


def known(name: str) -> str:
    """Return the module that a dotted name starts with, or the package for a public name of the package."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name or "__init__"


def within(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def layer(module: str) -> int:
    fitting = [(len(name), number) for number, names in enumerate(LAYERS) for name in names if within(module, name)]
    assert fitting, f"{module} is in no layer"
    return max(fitting)[1]


def test_imports_go_down() -> None:
    up = {(i.source, i.target): i.inside for i in imports() if i.ours and layer(i.target) > layer(i.source)}
    assert up == dict.fromkeys(UPWARD, True)


def test_no_module_imports_itself_by_others() -> None:
    """Including imports inside functions, unless ``UPWARD`` has a reason."""
    needs: dict[str, set[str]] = {}
    for i in imports():
        if i.ours and (i.source, i.target) not in UPWARD:
            needs.setdefault(i.source, set()).add(i.target)

    def reached(module: str) -> set[str]:
        found, waiting = set[str](), [module]
        while waiting:
            new = needs.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    assert not [module for module in modules() if module in reached(module)]


def test_recursion_stands_alone() -> None:
    """Tables for recursion use the generic prover's parts, and few modules use them: they know no machine."""
    outside = {i.target for i in imports() if i.ours and within(i.source, "recursion")}
    allowed = (
        "recursion",
        "air",
        "device",
        "field",
        "kernels",
        "proof",
        "protocol",
        "runtime",
        "statement",
    )
    assert not [target for target in outside if not any(within(target, name) for name in allowed)]
    users = {i.source for i in imports() if within(i.target, "recursion") and not within(i.source, "recursion")}
    assert users == {
        "cli.warm",
        "graphs.planner.layers",
        "graphs.planner.trees",
        "prover.layer_tree",
        "prover.layers",
        "verifier.compressed",
        "verifier.layer_key",
    }


def test_what_is_heavy_has_few_homes() -> None:
    for package, homes in HOMES.items():
        users = {i.source for i in imports() if not i.ours and i.target == package}
        assert users and all(any(within(user, home) for home in homes) for user in users), (package, users)
        assert all(any(within(user, home) for user in users) for home in homes), (package, homes)
