"""The guest that interprets programs, against Python: its samples' counterparts, random values, and wrong programs."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.program.elf import load_elf

FOLDER = Path(__file__).parents[3] / "examples/guests"
SAMPLES = FOLDER / "interpreter/samples"
IMAGE = load_elf((FOLDER / "interpreter.elf").read_bytes())


def run(text: str) -> Execution:
    return execute(IMAGE, text.encode())


def printed(text: str) -> str:
    """Return the output of a program that ends by itself."""
    execution = run(text)
    assert execution.exit_code == 0, execution.output
    return execution.output.decode()


def wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def queens() -> str:
    def ways(columns: list[int], n: int) -> int:
        if len(columns) == n:
            return 1
        free = (
            column
            for column in range(n)
            if all(abs(column - other) not in (0, len(columns) - row) for row, other in enumerate(columns))
        )
        return sum(ways([*columns, column], n) for column in free)

    return "".join(f"{n} {ways([], n)}\n" for n in range(1, 7))


def words(count: int = 30) -> str:
    syllables, seed = ["ka", "to", "mi", "ra", "no", "shi", "lu", "be"], 1

    def random(bound: int) -> int:
        nonlocal seed
        seed = wrapped(seed * 6364136223846793005 + 1442695040888963407)
        return (seed >> 33) % bound

    text = ["".join(syllables[random(8)] for _ in range(1 + random(2))) for _ in range(count)]
    counts, letters = Counter(text), Counter("".join(text))
    shown = ", ".join(f"{letter}: {number}" for letter, number in letters.items())
    lines = [f"{len(text)} words, {len(counts)} of them different; {{{shown}}}"]
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "\n".join([*lines, *(f"{number} {word}" for word, number in frequent[:5])]) + "\n"


def calculator() -> str:
    x, y = 7, -3
    sums = {
        "(1+(2*3))": 1 + 2 * 3,
        "((1+2)*3)": (1 + 2) * 3,
        "((x*x)-y)": x * x - y,
        "((100/(y+10))/2)": 100 // (y + 10) // 2,
        "((2*(x-(3-y)))*12345678901)": 2 * (x - (3 - y)) * 12345678901,
    }
    return "".join(f"{text} = {number}\n" for text, number in sums.items())


def functions() -> str:
    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    numbers = [n * n - 10 for n in range(1, 6)]
    lines = [f"{numbers} {sum(numbers)}", f"{10 + 5 - 12} nil 4 {10 + 5 - 12}", f"{[0, 1, 2]}"]
    return "\n".join([*lines, f"{[steps(n) for n in (1, 6, 7, 27)]}"]) + "\n"


TWINS: dict[str, Callable[[], str]] = {
    "queens": queens,
    "words": words,
    "calculator": calculator,
    "functions": functions,
}


def test_every_sample_has_a_twin() -> None:
    assert {file.stem for file in SAMPLES.iterdir()} == set(TWINS)


@pytest.mark.parametrize("sample", TWINS)
def test_samples_print_what_their_twins_do(sample: str) -> None:
    assert printed((SAMPLES / f"{sample}.txt").read_text()) == TWINS[sample]()


def test_a_sample_of_another_size() -> None:
    """Grow its texts and maps several times."""
    text = (SAMPLES / "words.txt").read_text() + "frequent(text_of(2000));"
    assert printed(text) == words() + words(2000)


def sums() -> st.SearchStrategy[str]:
    """Generate values in a syntax that Python and the guest share."""
    leaves = st.integers(0, 2**63 - 1).map(str) | st.integers(0, 9).map(str)
    pairs = st.sampled_from("+-*")
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds("({} {} {})".format, inner, pairs, inner)
            | st.builds("{} {} {}".format, inner, pairs, inner)
            | inner.map("-({})".format)
        ),
        max_leaves=20,
    )


@given(st.lists(sums(), min_size=1, max_size=10))
@settings(max_examples=40, deadline=None)
def test_arithmetic(texts: list[str]) -> None:
    expected = [str(wrapped(eval(text))) for text in texts]
    assert printed("".join(f"print({text});\n" for text in texts)).split() == expected


EDGES = [0, 1, 2, 7, 2**31, 2**63 - 1]


@pytest.mark.parametrize("left", [sign * edge for sign in (1, -1) for edge in EDGES] + [-(2**63)])
def test_pairs_of_integers(left: int) -> None:
    rights = [sign * edge for sign in (1, -1) for edge in EDGES if edge]
    text = f"let a = {left};" if left > -(2**63) else f"let a = {left + 1} - 1;"
    for right in rights:
        text += f"print(a / ({right}), a % ({right}), a < {right}, a <= {right}, a > {right}, a >= {right});"
    expected = [
        f"{wrapped(left // right)} {left % right} {left < right} {left <= right} {left > right} {left >= right}".lower()
        for right in rights
    ]
    assert printed(text).splitlines() == expected


@given(st.lists(st.text("abé ", max_size=12), min_size=2, max_size=8))
@settings(max_examples=30, deadline=None)
def test_texts(texts: list[str]) -> None:
    """Treat texts as bytes; equal texts are one object."""
    quoted = ", ".join(f'"{text}"' for text in texts)
    loop = "for a in all { for b in all { print(a < b, a == b, a + b == b + a, size(a + b)); } }"
    coded = [text.encode() for text in texts]
    expected = [f"{a < b} {a == b} {a + b == b + a} {len(a + b)}".lower() for a in coded for b in coded]
    assert printed(f"let all = [{quoted}]; {loop}").splitlines() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("# nothing", ""),
        ("print();", "\n"),
        ("print(nil, true, not 0, not nil);", "nil true false true\n"),
        ("print(nil or 2, false and 3, 1 and 4, 5 or 6);", "2 false 4 5\n"),
        ("print(1 + 2 * 3 == 7 and not (1 > 2));", "true\n"),
        (r'print("a\tb\"\\\n");', 'a\tb"\\\n\n'),
        ("let l = [1, [2, {3: 4}]]; print(l, size(l), l[1][1][3]);", "[1, [2, {3: 4}]] 2 4\n"),
        ("let l = []; push(l, l); print(l);", "[" * 9 + "..." + "]" * 9 + "\n"),
        ("let m = {}; m[true] = 1; m[1] = 2; m[nil] = 3; print(m, m[1], m.x);", "{true: 1, 1: 2, nil: 3} 2 nil\n"),
        ('print(part("hello", 1, 3), text(-5) + "x", code("A"), code(""));', "el -5x 65 nil\n"),
        ("let a = 1; if a { let a = 2; print(a); } print(a);", "2\n1\n"),
        ("for i in 5 { if i == 1 { break; } for k in 2 { let z = i; print(i, k); } }", "0 0\n0 1\n"),
        ("fun f() { let n = 0; while true { let m = n; n = n + 1; if n > 3 { return m; } } } print(f());", "3\n"),
        ("fun down(n) { if n == 0 { return 7; } return down(n - 1); } print(down(20000));", "7\n"),
        ("let f = fun (a) { return fun (b) { return fun () { a = a + b; return a; }; }; }; let g = f(1)(2); g(); "
         "print(g());", "5\n"),
        ("fun f(n) { fun g(k) { if k > n { return 0; } return k + g(k + 1); } return g(0); } print(f(10));", "55\n"),
        ("print(fun () { }, print, (fun (x) { })(1));", "a function a function nil\n"),
    ],
)  # fmt: skip
def test_what_programs_print(text: str, expected: str) -> None:
    assert printed(text) == expected


MANY = "fun f() {" + "".join(f"let a{i} = 0;\n" for i in range(200)) + "}"
DEEP = "fun f(n) { return 1 + f(n + 1); }\n\nf(0);"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print(1", "line 1: expected ) instead of the end"),
        ("let a = 1;\n\nlet b a;", "line 3: expected = instead of a"),
        ("let a = ;", "line 1: expected a value instead of ;"),
        ("(1) = 2;", "line 1: expected ; instead of ="),
        ("let 1 = 2;", "line 1: expected a name instead of 1"),
        ("let a = 1 $ 2;", "line 1: expected ; instead of $"),
        ('\n"abc', "line 2: a text does not end"),
        ("print(9223372036854775808);", "line 1: an integer has more than 63 bits: 9223372036854775808"),
        ("break;", "line 1: break outside of a loop"),
        ("return 1;", "line 1: return outside of a function"),
        ("(" * 200, "line 1: nested too deeply"),
        ("if 1 {" * 200, "line 1: nested too deeply"),
        (MANY, "line 200: too many variables in a function"),
        ("\nprint(a);", "line 2: no variable a"),
        ("a = 1;", "line 1: no variable a"),
        ("let a = [1];\nprint(a[0],\na[1]);", "line 3: no such item of the list: 1"),
        ("[1][-1];", "line 1: no such item of the list: -1"),
        ("nil.a;", "line 1: no item for nil and a text"),
        ("1 + nil;", "line 1: no arithmetic with an integer and nil"),
        ('"a" - "b";', "line 1: no arithmetic with a text and a text"),
        ("1 < {};", "line 1: no order of an integer and a map"),
        ("1 / 0;", "line 1: division by zero"),
        ("1 % 0;", "line 1: division by zero"),
        ("for i in nil { }", "line 1: no loop goes through nil"),
        ("3(4);", "line 1: no function to call but an integer"),
        ("fun f(a) { }\n\nf(1, 2);", "line 3: a wrong number of arguments: 2"),
        ("size();", "line 1: a wrong number of arguments: 0"),
        ("\nsize(3);", "line 2: no size has an integer"),
        ("pop([]);", "line 1: pop of an empty list"),
        ('part("abc", 2, 4);', "line 1: part beyond a text"),
        (DEEP, "line 1: calls are nested too deeply"),
    ],
)  # fmt: skip
def test_wrong_programs(text: str, said: str) -> None:
    execution = run("print(0);" + text)
    lines = execution.output.decode().splitlines()
    assert execution.exit_code == 1 and lines in (["0", said], [said])


PARTS = [*"(){}=;1[].,:+-", "let", "fun", "f", "in", "for", "if", '"a"']


@given(st.binary(max_size=60) | st.lists(st.sampled_from(PARTS)).map(lambda parts: " ".join(parts).encode()))
@settings(max_examples=200, deadline=None)
def test_any_text_ends(data: bytes) -> None:
    """End with or without a message, and without a fault; a loop would reach the limit."""
    assert execute(IMAGE, data, max_cycles=10_000_000).exit_code in (0, 1)
