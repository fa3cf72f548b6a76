"""The C++ statements generated for quotients have the meaning of the bytecode: Python runs them, without a GPU."""

import random
import re
from typing import Any

import numpy as np
import pytest

from graphprover.air.bytecode import quotient_bytecode
from graphprover.air.description import AirDescription
from graphprover.field import P, ext_add, ext_mul, ext_scale, ext_sub
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cpu import bytecode as cpu
from graphprover.kernels.cpu import domain
from graphprover.kernels.cuda import generate
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds
from tests.random_statements import random_statement

LOG_ROWS = 1
_SKIPPED = ("selectors = ", "domain::at", "+ chunk)", "#pragma")


class Sum:
    """A sum of products, of words or of extension values."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def add(self, word: int, weight: Any) -> None:
        wide = isinstance(weight, tuple)
        product = ext_scale(weight, word) if wide else word * weight % P
        start = self.value if self.value is not None else (0, 0, 0) if wide else 0
        self.value = ext_add(start, product) if wide else (start + product) % P


NAMES: dict[str, Any] = {
    "field_add": lambda x, y: (x + y) % P,
    "field_sub": lambda x, y: (x - y) % P,
    "field_mul": lambda x, y: x * y % P,
    "field_neg": lambda x: -x % P,
    "ext_add": ext_add,
    "ext_sub": ext_sub,
    "ext_scale": ext_scale,
    "ext_neg": lambda x: ext_sub((0, 0, 0), x),
    "bytecode_mul": ext_mul,
    "bytecode_scale": ext_scale,
    "sums_start": Sum,
    "sums_accumulate": lambda total, word, weight: total.add(word, weight),
    "sums_total": lambda total: total.value,
    "bytecode_total": lambda total: total.value,
}


def python(text: str) -> str:
    """Return the kernel's statements after the choice of the row, in Python; ``result`` is the stored value."""
    lines = []
    for line in text[text.index("u64 inverse_vanishing = ") :].splitlines()[1:-1]:
        indent = " " * (len(line) - len(line.lstrip()) - 4)
        loop = re.fullmatch(r"for \(u32 i = 0; i < (\d+); i\+\+\) \{", line.strip())
        table = re.fullmatch(r"const u32\* number = NUMBERS \+ (\d+) \+ (\d+) \* i;", line.strip())
        if loop or line.strip() == "{":
            lines.append(f"{indent}for i in range({loop[1] if loop else 1}):")
        elif table:
            lines.append(f"{indent}number = NUMBERS[{table[1]} + {table[2]} * i :]")
        elif line.strip() != "}" and not any(word in line for word in _SKIPPED):
            lines += [indent + statement(part) for part in line.strip().split(";") if part]
    return "\n".join(lines)


def statement(text: str) -> str:
    """Return one C++ statement in Python."""
    text = re.sub(r"^(u64|Ext|ExtSum|Sum) ", "", text.strip())
    text = re.sub(r"^if \(index < size\) ext::store\(target, size, index, (.*)\)$", r"result = \1", text)
    text = re.sub(r"\.a(\d)\b", r"[\1]", text).replace("= {}", "= sums_start()").replace("ull", "")
    text = re.sub(r"bytecode::constant\(&CONSTANT\(([^()]*)\)\)", r"tuple(words[\1 : \1 + 3])", text)
    text = re.sub(r"CONSTANT\(([^()]*)\)", r"words[\1]", text)
    return re.sub(r"Ext\{([^{}]*)\}", r"(\1)", text).replace("::", "_")


class Selectors:
    def __init__(self, values: list[int]) -> None:
        self.first, self.last, self.transition, self.inverse_vanishing = values


def check(air: AirDescription, seed: int) -> int:
    """Compare the kernels with the CPU's for random words, and return the number of kernels."""
    rng, bytecode, log_chunks = random.Random(seed), quotient_bytecode(air), air.log_quotient_chunks
    size = 1 << (LOG_ROWS + log_chunks)
    widths = (air.main_width, air.preprocessed_width, air.permutation_width)
    matrices = [np.array([[rng.randrange(P) for _ in range(size)] for _ in range(w)], np.uint64) for w in widths]
    matrices = [matrix.reshape(-1, size) for matrix in matrices]

    def ext() -> tuple[int, int, int]:
        return rng.randrange(P), rng.randrange(P), rng.randrange(P)

    public = [rng.randrange(P) for _ in range(air.num_public_values)]
    words = constants(bytecode, public, [ext() for _ in air.lookups], ext(), ext(), ext())
    selectors = domain.selectors(LOG_ROWS, log_chunks)
    expected = np.empty((3, size), dtype=np.uint64)
    given = tuple(matrix if len(matrix) else None for matrix in matrices)
    cpu.evaluate(bytecode, words, (*given, selectors), (expected,), LOG_ROWS, True, 0, size)

    texts = generate.quotient_sources(bytecode, 1 << log_chunks)
    programs = [compile(python(text), "kernel", "exec") for text in texts]
    tables = [re.search(r"NUMBERS\[\] = \{(.*)\}", text) for text in texts]
    flat = {
        name: matrix.ravel().tolist()
        for name, matrix in zip(("main", "preprocessed", "permutation"), matrices, strict=True)
    }
    for row in range(size):
        result = None
        values = Selectors(selectors[:, row].tolist())
        block = row >> LOG_ROWS << LOG_ROWS
        following = block + (row - block + 1) % 2  # two rows, in bit-reversed order
        for program, table in zip(programs, tables, strict=True):
            scope = {
                **NAMES, **flat, **{f"{name}_rows": size for name in flat}, "words": words.tolist(), "row": row,
                "next": following, "selectors": values, "inverse_vanishing": values.inverse_vanishing, "size": size,
                "NUMBERS": [int(number) for number in table[1].split(",")] if table else [],
                "target": None, "ext_load": lambda target, size, row, before=result: before,
            }  # fmt: skip
            exec(program, scope)
            result = scope["result"]
        assert result == tuple(expected[:, row].tolist())
    return len(texts)


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_random_tables(seed: int, rolled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = random_statement(seed, tables=2, max_width=20, max_degree=1 + seed % 4, interactions=seed % 9)[1]
    if rolled:
        for name, size in (("WHOLE", 0), ("PART", 1), ("NUMBERS", 20)):
            monkeypatch.setattr(generate, name, size)
    kernels = sum(check(air, seed) for air in tables.descriptions)
    assert (kernels > len(tables.descriptions)) == rolled


def test_keccak_f() -> None:
    """A large table: its kernels are few, short, and mostly loops."""
    air = KeccakRounds().describe()
    assert 1 < check(air, 1) < 9
    texts = generate.quotient_sources(quotient_bytecode(air), 2)
    assert generate.is_generated(texts) and max(map(len, texts)) < 100_000
    assert sum(text.count("for (u32 i = 0") for text in texts) < 20
