"""The functions of the guests' library that compilers call: atomics, complex numbers, math, text, shared prologues."""

import itertools
import math
import random
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.program.elf import load_elf
from tests.vm.kit import build, lacks

PAIRS = [("gcc", "ld"), ("clang", "lld")]
INF, NAN = math.inf, math.nan


def guest(folder: Path, source: str, *flags: str, pair: tuple[str, str] = PAIRS[0]) -> Callable[..., Execution]:
    """Return a function that runs a guest on an input."""
    if reason := lacks(*pair):
        pytest.skip(reason)
    image = load_elf(build(source, folder, *pair, "-fno-builtin", *flags).read_bytes())
    return lambda data=b"", **options: execute(image, data, **options)


ATOMIC = """
#include "zkvm.h"

__extension__ typedef unsigned __int128 uint128_t;
typedef struct { uint8_t bytes[12]; } large;

#define CHECK(condition) do { if (!(condition)) return __LINE__; } while (0)

/* `now` is what there should be after an operation that returns what was there. */
#define FETCH(name, size, value, now) \\
    old = place; CHECK(__atomic_fetch_##name(&place, (value), 5) == old); CHECK(place == (word)(now));
#define SIZE(size, type) { \\
    typedef type word; \\
    static volatile word place; word old, expected, value = (word)0x8091A2B3C4D5E6F7; \\
    __atomic_store_n(&place, value, 5); CHECK(__atomic_load_n(&place, 5) == value); \\
    FETCH(add, size, value, old + value) FETCH(sub, size, 3, old - 3) FETCH(and, size, 0x77, old & 0x77) \\
    FETCH(or, size, 0x18, old | 0x18) FETCH(xor, size, value, old ^ value) FETCH(nand, size, 0x3C, ~(old & 0x3C)) \\
    old = place; CHECK(__atomic_exchange_n(&place, 5, 5) == old && place == 5); \\
    expected = 6; CHECK(!__atomic_compare_exchange_n(&place, &expected, 9, 0, 5, 5) && expected == 5 && place == 5); \\
    CHECK(__atomic_compare_exchange_n(&place, &expected, 9, 0, 5, 5) && expected == 5 && place == 9); \\
    SYNC(size, word) }

#ifdef __clang__
#define SYNC(size, word) /* it has no other names for these */
#else
#define OLD(name, value, now) \\
    old = place; CHECK(__sync_fetch_and_##name(&place, (value)) == old); CHECK(place == (word)(now)); \\
    old = place; CHECK(__sync_##name##_and_fetch(&place, (value)) == (word)(now)); CHECK(place == (word)(now));
#define SYNC(size, word) \\
    OLD(add, value, old + value) OLD(sub, 3, old - 3) OLD(and, 0x77, old & 0x77) \\
    OLD(or, 0x18, old | 0x18) OLD(xor, value, old ^ value) OLD(nand, 0x3C, ~(old & 0x3C)) \\
    place = 5; CHECK(!__sync_bool_compare_and_swap(&place, 6, 7) && place == 5); \\
    CHECK(__sync_bool_compare_and_swap(&place, 5, 7) && place == 7); \\
    CHECK(__sync_val_compare_and_swap(&place, 5, 8) == 7 && place == 7); \\
    CHECK(__sync_val_compare_and_swap(&place, 7, 8) == 7 && place == 8); \\
    CHECK(__sync_lock_test_and_set(&place, 1) == 8 && place == 1); \\
    if (size < 16) { __sync_lock_release(&place); CHECK(place == 0); } /* of 16 bytes gcc 12 makes no code */
#endif

int main(void)
{
    SIZE(1, uint8_t)
    SIZE(2, uint16_t)
    SIZE(4, uint32_t)
    SIZE(8, uint64_t)
    SIZE(16, uint128_t)

    static large place = {"first text!"}, second = {"second one!"}, third;
    __atomic_load(&place, &third, 5);
    CHECK(!memcmp(&third, &place, 12));
    __atomic_store(&place, &second, 5);
    CHECK(!memcmp(&second, &place, 12));
    CHECK(!__atomic_compare_exchange(&place, &third, &third, 0, 5, 5) && !memcmp(&second, &third, 12));
    third.bytes[11] = 1;
    __atomic_exchange(&place, &third, &second, 5);
    CHECK(place.bytes[11] == 1 && !second.bytes[11]);
    CHECK(__atomic_compare_exchange(&place, &third, &second, 0, 5, 5) && !place.bytes[11]);
    CHECK(__atomic_is_lock_free(12, &place) && __atomic_is_lock_free(4, &place));
    __builtin___clear_cache((char *)&place, (char *)&place + 12);
    return 0;
}
"""


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_atomics(pair: tuple[str, str], level: str, tmp_path: Path) -> None:
    """A failed check is the exit code: its line."""
    assert guest(tmp_path, ATOMIC, level, "-Wno-atomic-alignment", "-Wno-sync-nand", pair=pair)().exit_code == 0


WEAK = """
#include "zkvm.h"

/* As Zig's compiler_rt has it for this machine: it calls itself. */
uint32_t recurse(volatile uint32_t *at, uint32_t value, int order) __asm__("__atomic_fetch_add_4");
__attribute__((weak)) uint32_t recurse(volatile uint32_t *at, uint32_t value, int order)
{
    return recurse(at, value, order) + 1;
}

static volatile uint32_t number = 4;

int main(void)
{
    return (int)(recurse(&number, 3, 5) << 4 | number);
}
"""


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_atomics_of_the_library_win_over_weak_ones(pair: tuple[str, str], tmp_path: Path) -> None:
    assert guest(tmp_path, WEAK, "-Wno-unused", "-Wno-infinite-recursion", pair=pair)().exit_code == 0x47


OWN = """
#include "zkvm.h"

char *strchr(const char *text, int byte) { return byte ? (char *)text : 0; }
double nearbyint(double number) { return number + 1; }
int strcmp(const char *left, const char *right);
long lrint(double number);

int main(void)
{
    return strcmp("a", "a") || strchr("a", 'b') == 0 || nearbyint(1) != 2 || lrint(2.5) != 2;
}
"""


def test_functions_of_a_guest_replace_those_of_the_library(tmp_path: Path) -> None:
    """Also if the guest needs others of the same object."""
    assert guest(tmp_path, OWN)().exit_code == 0


COMPLEX = """
#include "zkvm.h"

typedef TYPE _Complex number;

/* Four numbers each: two complex ones, whose product and quotient are the output. */
int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    for (const TYPE *at = (const TYPE *)input; (const uint8_t *)at < input + size; at += 4) {
        number a, b, results[2];
        __real__ a = at[0], __imag__ a = at[1], __real__ b = at[2], __imag__ b = at[3];
        results[0] = a * b;
        results[1] = a / b;
        write_output((const uint8_t *)results, sizeof results);
    }
    return 0;
}
"""


def quotient(a: float, b: float, c: float, d: float) -> tuple[Fraction, Fraction]:
    """Return the exact quotient of a + bi and c + di."""
    x, y, u, v = map(Fraction, (a, b, c, d))
    return (x * u + y * v) / (u * u + v * v), (y * u - x * v) / (u * u + v * v)


@pytest.mark.parametrize(("name", "kind"), [("double", np.float64), ("float", np.float32)])
def test_complex_numbers(name: str, kind: type, tmp_path: Path) -> None:
    """Products are rounded as in C. Quotients are exact to the last bit, also if a square would be too large."""
    random_ = random.Random(13)
    spread = 300 if name == "double" else 35
    rows = [[random_.uniform(-9, 9) * 10 ** random_.uniform(-spread, spread) for _ in range(2)] * 2 for _ in range(60)]
    rows += [[random_.uniform(-9, 9) for _ in range(4)] for _ in range(200)]
    rows += [[row[0], row[1], row[3] * 1.5, row[2] / 3] for row in rows[:60]]
    values = np.array(rows, dtype=kind)
    results = np.frombuffer(guest(tmp_path, COMPLEX, f"-DTYPE={name}")(values.tobytes()).output, dtype=kind)
    a, b, c, d = values.T
    with np.errstate(all="ignore"):
        expected = np.stack([a * c - b * d, a * d + b * c], axis=1)
    product, ratio = results.reshape(-1, 4)[:, :2], results.reshape(-1, 4)[:, 2:]
    finite = np.isfinite(expected).all(axis=1)
    assert finite.sum() > 200 and (product[finite] == expected[finite]).all()
    for row, found in zip(values.tolist(), ratio, strict=True):
        for exact, part in zip(quotient(*row), found, strict=True):
            nearest = kind(float(exact))
            assert abs(int(part.view(f"i{kind().nbytes}")) - int(nearest.view(f"i{kind().nbytes}"))) <= 1 or (
                abs(float(part) - float(nearest)) <= abs(float(np.spacing(nearest)))
            )


@pytest.mark.parametrize("name", ["double", "float"])
def test_special_complex_numbers(name: str, tmp_path: Path) -> None:
    """Annex G: an infinite number times or over a finite one is infinite, and a finite one over it is 0."""
    kind = np.dtype(name.replace("float", "float32"))
    some = (0.0, -1.5, INF, -INF, NAN)
    rows = list(itertools.product(some, repeat=4))
    output = guest(tmp_path, COMPLEX, f"-DTYPE={name}")(np.array(rows, dtype=kind).tobytes()).output

    def sort(x: float, y: float) -> str:
        if math.isinf(x) or math.isinf(y):
            return "infinite"
        return "no number" if math.isnan(x) or math.isnan(y) else "finite" if x or y else "zero"

    for row, (p, q, x, y) in zip(rows, np.frombuffer(output, dtype=kind).reshape(-1, 4).tolist(), strict=True):
        left, right = sort(*row[:2]), sort(*row[2:])
        if {left, right} in ({"infinite"}, {"infinite", "finite"}):
            assert sort(p, q) == "infinite", row
        if left == "infinite" and right in ("finite", "zero"):
            assert sort(x, y) == "infinite", row
        if left == "finite" and right == "zero":
            assert sort(x, y) == "infinite", row
        if left in ("finite", "zero") and right == "infinite":
            assert sort(x, y) == "zero", row


LONG = """
typedef long double _Complex number;

static number made(long double real, long double imaginary)
{
    number made;
    __real__ made = real, __imag__ made = imaginary;
    return made;
}

static volatile long double two = 2, huge = 0x1p16380L, tiny = 0x1p-16440L, infinite = __builtin_infl();

int main(void)
{
    number a = made(1, two), b = made(3, 2 * two);
    if (a * b != made(-5, 10) || (a * b) / a != b)
        return 1;
    if (made(huge, 2 * huge) / made(huge, huge) != made(1.5L, 0.5L))
        return 2;
    if (made(tiny, 2 * tiny) / made(tiny, tiny) != made(1.5L, 0.5L))
        return 3;
    if (made(1, 1) / made(infinite, 1) != 0 || __builtin_isfinite(__real__(a / made(0, two - 2))))
        return 4;
    if (__real__(a / made(0x1p-16494L, 0)) != infinite)
        return 5;
    if (made(1, 1) / made(0x1p16383L, 0) != made(0x1p-16383L, 0x1p-16383L))
        return 6;
    return 0;
}
"""


def test_complex_numbers_of_the_widest_type(tmp_path: Path) -> None:
    assert guest(tmp_path, LONG)().exit_code == 0


ROUNDING = ["sqrt", "floor", "ceil", "trunc", "rint", "round", "roundeven", "nearbyint", "fabs"]
EXACT = [*ROUNDING, "fmod", "fmin", "fmax", "copysign", "fdim"]
POWERS = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf", "erfc", "tgamma"]
ANGLES = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"]
ONE = [*ROUNDING, *POWERS, *ANGLES]
TWO = ["fmod", "fmin", "fmax", "copysign", "fdim", "pow", "atan2", "hypot"]
WHOLE = ["lrint", "llrint", "lround", "llround"]

MATH = """
#include "zkvm.h"

{declarations}
TYPE fma{f}(TYPE x, TYPE y, TYPE z), ldexp{f}(TYPE x, int y), scalbn{f}(TYPE x, int y), scalbln{f}(TYPE x, long y);
TYPE modf{f}(TYPE x, TYPE *y), frexp{f}(TYPE x, int *y);

static void put(TYPE number)
{{
    write_output((const uint8_t *)&number, sizeof number);
}}

/* Two numbers each. */
int main(void)
{{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    for (const TYPE *at = (const TYPE *)input; (const uint8_t *)at < input + size; at += 2) {{
        TYPE x = at[0], y = at[1], part;
        int exponent;
        {calls}
        put(fma{f}(x, y, x));
        put(ldexp{f}(x, 3)), put(scalbn{f}(x, -3)), put(scalbln{f}(x, 1l << 40));
        put(modf{f}(x, &part)), put(part);
        put(frexp{f}(x, &exponent)), put((TYPE)exponent);
    }}
    return 0;
}}
"""


def gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except ValueError:  # 0 or a negative integer
        return NAN if x else math.copysign(INF, x)
    except OverflowError:
        return INF


def rounded(x: float) -> float:
    """Return the nearest integer, and of two the one away from zero."""
    exact = Fraction(x)
    return math.copysign(float(math.floor(abs(exact) + Fraction(1, 2))), x)


NAMES = {"pow": "power", "atan2": "arctan2", "acos": "arccos", "asin": "arcsin", "atan": "arctan"}
NAMES |= {"acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh"}
NAMES |= dict.fromkeys(("nearbyint", "roundeven", "lrint", "llrint"), "rint")
OTHERS: dict[str, Callable[..., float]] = dict.fromkeys(("round", "lround", "llround"), rounded)
OTHERS |= {"fdim": lambda x, y: max(x - y, 0.0), "erf": math.erf, "erfc": math.erfc, "tgamma": gamma}


def python_value(name: str, x: float, y: float) -> float:
    """Return the value of a function of <math.h> in double."""
    arguments = (x, y) if name in TWO else (x,)
    with np.errstate(all="ignore"):
        return float(OTHERS.get(name, getattr(np, NAMES.get(name, name), None))(*arguments))


def inputs() -> list[tuple[float, float]]:
    random_ = random.Random(41)
    fixed = [(x, y) for x in (0.5, 1.5, 2.5, -0.5, -1.5, 3.0, 0.0, 0.49999999999999994, 1e15) for y in (0.75, 2.0)]
    return fixed + [(random_.uniform(-9, 9), random_.uniform(0.1, 9)) for _ in range(40)]


def math_source(kind: str) -> str:
    f = {"double": "", "float": "f"}[kind]
    lines = [f"{kind} {name}{f}({kind} x);" for name in ONE] + [
        f"{kind} {name}{f}({kind} x, {kind} y);" for name in TWO
    ]
    lines += [f"long {name}{f}({kind} x);" for name in WHOLE]
    calls = [f"put({name}{f}(x));" for name in ONE] + [f"put({name}{f}(x, y));" for name in TWO]
    calls += [f"put(({kind}){name}{f}(x));" for name in WHOLE]
    return MATH.format(f=f, declarations="\n".join(lines), calls="\n".join(calls)).replace("TYPE", kind)


def near(found: float, expected: float, relative: float) -> bool:
    if math.isnan(found) or math.isnan(expected):
        return math.isnan(found) and math.isnan(expected)
    return found == expected or abs(found - expected) <= relative * max(abs(expected), 1e-300)


@pytest.mark.parametrize(("kind", "relative"), [("double", 2**-50), ("float", 2**-21)])
def test_functions_of_math(kind: str, relative: float, tmp_path: Path) -> None:
    width = np.dtype(kind.replace("float", "float32"))
    values = np.array(inputs(), dtype=width)
    names = [*ONE, *TWO, *WHOLE]
    run = guest(tmp_path, math_source(kind))
    rows = np.frombuffer(run(values.tobytes()).output, dtype=width).reshape(len(values), -1)
    assert rows.shape[1] == len(names) + 8
    for (x, y), row in zip(values.tolist(), rows.tolist(), strict=True):
        for name, found in zip(names, row, strict=False):
            expected = python_value(name, x, y)
            if kind == "float" and math.isfinite(expected):
                expected = float(np.float32(expected))
            exact = name in EXACT or name in WHOLE
            assert near(found, expected, 0 if exact else relative), (name, x, y, found, expected)
        fma = float(Fraction(x) * Fraction(y) + Fraction(x))
        assert near(row[-8], float(width.type(fma)), 0 if kind == "double" else 2**-23), (x, y)
        scaled = [width.type(x * 8), width.type(x / 8), math.copysign(INF, x) if x else x]
        fraction, whole = math.modf(x)
        assert row[-7:] == [*scaled, fraction, whole, *math.frexp(x)], x


@pytest.mark.parametrize(("kind", "low"), [("double", 5e-324), ("float", 2**-149)])
def test_parts_of_special_numbers(kind: str, low: float, tmp_path: Path) -> None:
    width = np.dtype(kind.replace("float", "float32"))
    values = [low, -low, 3 * low, INF, -INF, NAN, -0.0]
    data = np.array([(x, 1.0) for x in values], dtype=width).tobytes()
    rows = np.frombuffer(guest(tmp_path, math_source(kind))(data).output, dtype=width).reshape(len(values), -1)
    for x, (fraction, whole, mantissa, exponent) in zip(values, rows[:, -4:].tolist(), strict=True):
        if math.isnan(x):
            assert math.isnan(fraction) and math.isnan(whole) and math.isnan(mantissa)
        else:
            parts = (math.copysign(0.0, x), x) if math.isinf(x) else math.modf(x)
            assert (fraction, whole) == parts and math.copysign(1, fraction) == math.copysign(1, x)
            assert mantissa == math.frexp(x)[0] and exponent == (0 if math.isinf(x) else math.frexp(x)[1])


TEXT = """
#include "zkvm.h"

int bcmp(const void *left, const void *right, size_t size), strcmp(const char *left, const char *right);
int strncmp(const char *left, const char *right, size_t size);
char *strchr(const char *text, int byte), *strrchr(const char *text, int byte);
char *strstr(const char *text, const char *part);
char *strcpy(char *to, const char *from), *stpcpy(char *to, const char *from), *strcat(char *to, const char *from);
char *strncpy(char *to, const char *from, size_t size), *strncat(char *to, const char *from, size_t size);
char *strpbrk(const char *text, const char *bytes);
size_t strnlen(const char *text, size_t size), strspn(const char *text, const char *bytes);
size_t strcspn(const char *text, const char *bytes);
void *memrchr(const void *memory, int byte, size_t size), *mempcpy(void *to, const void *from, size_t size);
void *memchr(const void *memory, int byte, size_t size);

static char room[64];

static void put(long number)
{
    write_output((const uint8_t *)&number, sizeof number);
}

static void place(const char *start, const void *found)
{
    put(found ? (const char *)found - start : -1);
}

static void show(const char *result)
{
    place(room, result);
    write_output((const uint8_t *)room, sizeof room);
    memset(room, '#', sizeof room);
}

/* Two texts, of which the second is short, each with a zero behind it. */
int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    memset(room, '#', sizeof room);
    for (const char *a = (const char *)input, *b; a < (const char *)input + size; a = b + strlen(b) + 1) {
        b = a + strlen(a) + 1;
        put(strcmp(a, b) < 0 ? -1 : strcmp(a, b) > 0), put(strncmp(a, b, 2) < 0 ? -1 : strncmp(a, b, 2) > 0);
        put(bcmp(a, b, 3) != 0), put((long)strnlen(a, 5));
        place(a, strchr(a, *b)), place(a, strrchr(a, *b)), place(a, strstr(a, b)), place(a, strpbrk(a, b));
        place(a, memrchr(a, *b, strlen(a))), place(a, memchr(a, *b, strlen(a)));
        put((long)strspn(a, b)), put((long)strcspn(a, b));
        show(strcpy(room, a)), show(stpcpy(room, a)), show(strncpy(room, a, 5)), show(mempcpy(room, a, 3));
        strcpy(room, b), show(strcat(room, a)), strcpy(room, b), show(strncat(room, a, 2));
    }
    return 0;
}
"""


def text_results(a: bytes, b: bytes, behind: bytes) -> bytes:
    """Return what TEXT writes of two texts, by Python; ``behind`` is what follows them in memory."""

    def sign(x: bytes, y: bytes) -> int:
        return (x > y) - (x < y)

    spans = [place for place, byte in enumerate(a) if byte not in b]
    finds = [place for place, byte in enumerate(a) if byte in b]
    memory = a + b"\0" + b + b"\0" + behind
    numbers = [sign(a, b), sign(a[:2], b[:2]), memory[:3] != memory[len(a) + 1 :][:3], min(len(a), 5)]
    first = b[:1] or b"\0"
    numbers += [(a + b"\0").find(first), (a + b"\0").rfind(first), a.find(b), min(finds, default=-1)]
    numbers += [a.rfind(first), a.find(first), min(spans, default=len(a)), min(finds, default=len(a))]

    def shown(result: int, contents: bytes) -> bytes:
        return struct.pack("<q", result) + contents.ljust(64, b"#")

    results = [shown(0, a + b"\0"), shown(len(a), a + b"\0"), shown(0, a[:5].ljust(5, b"\0")), shown(3, memory[:3])]
    results += [shown(0, b + a + b"\0"), shown(0, b + a[:2] + b"\0")]
    return struct.pack(f"<{len(numbers)}q", *numbers) + b"".join(results)


def test_functions_of_text(tmp_path: Path) -> None:
    pairs = [
        (b"", b""),
        (b"", b"x"),
        (b"abcabc", b""),
        (b"abcabc", b"bc"),
        (b"abcabe", b"abe"),
        (b"\xff\x80z", b"\x80"),
    ]
    pairs += [(b"aaaa", b"aab"), (b"same", b"same"), (b"samer", b"same"), (b"ab", b"ba"), (b"0123456789", b"9")]
    contents = [a + b"\0" + b + b"\0" for a, b in pairs]
    output = guest(tmp_path, TEXT)(b"".join(contents)).output
    behind = [b"".join(contents[place + 1 :]) + bytes(8) for place in range(len(pairs))]
    assert output == b"".join(text_results(a, b, rest) for (a, b), rest in zip(pairs, behind, strict=True))


PROTECTED = """
#include "zkvm.h"

static __attribute__((noinline)) void copy(const uint8_t *from, size_t size)
{
    volatile uint8_t here[16];

    for (size_t i = 0; i < size; i++)
        here[i] = from[i];
    write_output((const uint8_t *)here, 1);
}

int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    copy(input, size);
    return 3;
}
"""


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_the_stack_protector(pair: tuple[str, str], tmp_path: Path) -> None:
    run = guest(tmp_path, PROTECTED, "-fstack-protector-all", pair=pair)
    assert (run(b"x" * 16).output, run(b"x" * 16).exit_code) == (b"x", 3)
    shown: list[bytes] = []
    with pytest.raises(GuestFault, match="breakpoint"):
        run(b"x" * 32, debug=shown.append)
    assert b"".join(shown).startswith(b"the stack protector found")


def saving(most: int) -> str:
    """Return functions that keep 1 to ``most`` numbers in registers across calls, and a program that adds them up."""
    lines = [
        "#include <stdint.h>",
        '__attribute__((noinline)) uint64_t next(uint64_t x) { __asm__ volatile(""); return 3 * x + 1; }',
    ]
    for count in range(1, most + 1):
        names = [f"v{i}" for i in range(count)]
        lines.append(f"__attribute__((noinline)) uint64_t f{count}(uint64_t x) {{")
        lines += [f"    uint64_t {name} = next(x + {i});" for i, name in enumerate(names)]
        lines += [f"    {name} ^= next({name}) * {i + 3};" for i, name in enumerate(names)]
        lines.append(f"    return {' + '.join(f'{i + 1} * {name}' for i, name in enumerate(names))};\n}}")
    total = " ^ ".join(f"f{count}({count})" for count in range(1, most + 1))
    return "\n".join([*lines, f"int main(void) {{ return (int)(({total}) >> 7 & 0x7FFFFFFF); }}"])


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_prologues_that_functions_share(pair: tuple[str, str], tmp_path: Path) -> None:
    """With -msave-restore functions call one that saves registers, and end in one that loads them."""
    source = saving(14)
    plain = guest(tmp_path, source, "-Os", pair=pair)().exit_code
    assert guest(tmp_path, source, "-Os", "-msave-restore", pair=pair)().exit_code == plain
    image = (tmp_path / "main.elf").read_bytes()
    assert b"__riscv_save_12\0" in image and b"__riscv_restore_12\0" in image


SAVED = [f"s{i}" for i in range(12)]


def each_prologue(counts: Sequence[int]) -> str:
    """Return a program in assembly that saves and restores N registers for each N, and checks all of them."""
    lines = [".globl main", "main:", "    mv s11, ra"]
    for count in counts:
        lines += [f"    li {name}, {7 * place + 1}" for place, name in enumerate(SAVED[:-1])]
        lines += ["    mv a2, sp", "    mv a3, s11", f"    call clobber_{count}", f"    li a0, {count + 1}"]
        lines += ["    bne sp, a2, 9f", "    bne s11, a3, 9f"]
        for place, name in enumerate(SAVED[:-1]):
            lines += [f"    li t0, {7 * place + 1}", f"    bne {name}, t0, 9f"]
    lines += ["    li a0, 0", "9:  mv ra, s11", "    ret"]
    for count in counts:
        lines += [f"clobber_{count}:", f"    call t0, __riscv_save_{count}"]
        lines += [f"    li {name}, -1" for name in ["ra", *SAVED[:count]]]
        lines += [f"    tail __riscv_restore_{count}"]
    return "\n".join(lines)


def test_each_shared_prologue(tmp_path: Path) -> None:
    source = "__asm__(" + "\n".join(f'"{line}\\n"' for line in each_prologue(range(13)).splitlines()) + ");"
    assert guest(tmp_path, source)().exit_code == 0
