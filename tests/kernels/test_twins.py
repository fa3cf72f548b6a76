"""Operations have equal names and arguments in kernels/cpu and kernels/cuda, and devices only delegate.

On a CPU an operation also has an argument for the number of threads, and the part of one thread an argument for its
range [first, last) of rows or columns.
"""

import ast
from pathlib import Path

import pytest

import graphprover.device
import graphprover.kernels

FOLDER = Path(graphprover.kernels.__file__).parent
ONLY_CPU = {
    "compression": "in CUDA C++: blake3.cuh",
    "field": "in CUDA C++: field.cuh, ext.cuh",
    "messages": "a GPU's threads read their own rows",
    "pages": "a GPU's memory has a pool",
    "parallel": "a GPU's grid splits the work",
    "products": "the verifier's, in NumPy: protocol/arrays.py",
    "simd": "a GPU's threads are its vectors",
    "sums": "in CUDA C++: sums.cuh",
    "wide": "words of the executor's host calls",
    "words": "integers of the executor's host calls",
}
ONLY_CUDA = {
    "constants": "a CPU reads the arrays themselves",
    "columns": "a CPU takes the addresses of NumPy arrays",
    "compile_queue": "the threads that compile; Numba's kernels belong to no table",
    "multi_table": "small tables share launches, where a CPU has calls",
    "denominators": "one kernel for two operations; on a CPU `deep.invert_differences`",
    "enqueue": "a CPU has no launches",
    "faults": "what only a GPU can lose",
    "generate": "a CPU interprets the bytecode of all tables",
    "lookup_parts": "a CPU has room for the whole program",
    "memory": "a GPU's own",
    "launches": "a CPU has no launches",
    "launch": "compiling and launching, which Numba does",
    "nvrtc": "a compiler of CUDA C++",
    "shipped": "the machine code of Numba's kernels is Numba's",
    "source_cache": "what is generated for a table",
    "sources": "the text of kernels",
    "tape": "a CPU has no launches",
    "tapes": "a CPU has no launches",
    "warm": "compiling ahead; Numba's kernels belong to no table",
}
TWINS = {
    "blake3",
    "deep",
    "domain",
    "fri",
    "gather",
    "grind",
    "hashes",
    "inverse",
    "keccak",
    "logup",
    "merkle",
    "ntt",
    "opening",
    "bytecode",
    "quotient",
}
# Functions that exist on one side only.
ONE_SIDED = {
    "cpu": {
        "domain.indicators": "made by the generated kernels as they are needed",
        "domain.selectors": "made by the kernels as they are needed",
        "blake3.hash_messages": "the verifier's",
        "keccak.hash_messages": "the verifier's",
        "logup.accumulate": "two kernels of logup.cu",
    },
    "cuda": {
        "inverse.no_zero": "where kernels report, as they cannot raise",
        "ntt.plan": "a CPU walks the tree in one pass",
        "bytecode.evaluate_lookups": "on a CPU `bytecode.evaluate` and `logup.fractions`",
    },
}
DIFFERENT = {
    "ntt.ntt": "measured against others' transforms: on a GPU in place",
    "bytecode.evaluate": "a GPU makes the selectors and all rows of a quotient, a CPU also runs lookups",
}
DEVICE_LINES = 3  # lines of a method that only delegates, without its signature


def modules(side: str) -> set[str]:
    return {path.stem for path in (FOLDER / side).glob("*.py")} - {"__init__"}


def functions(side: str, module: str) -> dict[str, list[str]]:
    """Return the public functions of a module and their arguments, except functions that Numba compiles."""
    tree = ast.parse((FOLDER / side / f"{module}.py").read_text())
    return {
        node.name: [argument.arg for argument in node.args.args]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list
    }


def is_piece(arguments: list[str]) -> bool:
    return "first" in arguments and "last" in arguments


def test_every_operation_has_its_module_on_both_sides() -> None:
    assert modules("cpu") == TWINS | set(ONLY_CPU)
    assert modules("cuda") == TWINS | set(ONLY_CUDA)


@pytest.mark.parametrize("module", sorted(TWINS))
def test_functions_are_the_same(module: str) -> None:
    cpu, cuda = functions("cpu", module), functions("cuda", module)
    assert cpu or module in ("domain", "hashes")
    for side, ours, others in (("cpu", cpu, cuda), ("cuda", cuda, cpu)):
        alone = {name for name in ours if name not in others and not is_piece(ours[name])}
        assert alone == {name.split(".")[1] for name in ONE_SIDED[side] if name.split(".")[0] == module}, side
    for name in set(cpu) & set(cuda):
        operands = [argument for argument in cpu[name] if argument not in ("threads", "first", "last")]
        assert (operands == cuda[name]) == (f"{module}.{name}" not in DIFFERENT), name


def test_a_cpu_s_operations_take_threads_first_and_pieces_their_range_last() -> None:
    for module in TWINS:
        for name, arguments in functions("cpu", module).items():
            assert "threads" not in arguments[1:], (module, name)
            assert not (is_piece(arguments) and "threads" in arguments), (module, name)


@pytest.mark.parametrize("side", ["cpu", "cuda"])
def test_devices_only_delegate(side: str) -> None:
    """An operation of a device has at most `DEVICE_LINES` lines."""
    folder = Path(graphprover.device.__file__).parent
    interface = ast.parse((folder / "interface.py").read_text())
    (protocol,) = (node for node in interface.body if isinstance(node, ast.ClassDef) and node.name == "Device")
    operations = {node.name for node in protocol.body if isinstance(node, ast.FunctionDef)}
    tree = ast.parse((folder / f"{side}.py").read_text())
    (device,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.endswith("Device"))
    methods = {node.name: node for node in device.body if isinstance(node, ast.FunctionDef)}
    for name in operations & set(methods) - {
        "task",
        "load",
        "expect",
        "reading",
        "stamp",
        "spans",
        "repeating",
    }:  # methods of the device alone
        first, *_ = body = methods[name].body
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            body = body[1:]
        lines = body[-1].end_lineno - body[0].lineno + 1  # type: ignore[operator]
        assert lines <= DEVICE_LINES, (name, lines)
