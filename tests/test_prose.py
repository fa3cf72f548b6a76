"""Documents, docstrings and comments are plain technical English: a lint for turns of phrase that hide the subject."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 0.5  # of each mark, per 1,000 words
MARKS = {  # what to write instead: the pattern
    "name the thing, not 'what is …'": (
        r"\bwhat (?:is|it|they|a|the|was|has|of|others|all|each|does|comes|no|this|we|runs|an)\b(?![^.]*\?)"
    ),
    "repeat the noun of 'those of', 'that of'": r"\b(?:those|that) (?:of|from|which|that)\b",
    "name the subject, not 'whoever', 'nobody', 'somebody', 'whom'": r"\b(?:whoever|nobody|somebody|whom)\b",
    "'if', not 'where'": r"\bwhere (?:that|there|it|a|the|they|no|one|none)\b",
    "give the number, not 'so many', 'as many as'": r"\b(?:so many|as many as)\b",
    "'recomputed', 'retried', not 'made again'": r"\b(?:made|begun|begins|tried|done|given) (?:once )?(?:again|anew)\b",
    "'is reported', 'gets', not 'is told', 'says so'": r"\b(?:is|are) (?:told|said)\b|\bsays? so\b",
}
CODE = ["graphprover", "graphs", "kernels", "scripts", "examples", "tests"]
DOCUMENTS = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")),
]
QUOTED = (r'"""(?:[^"\\]|\\.|"(?!""))*"""', r"'''.*?'''", r'"(?:[^"\\\n]|\\.)*"', r"'(?:[^'\\\n]|\\.)*'")
STRING_OR_COMMENT = re.compile("|".join((*QUOTED, r"#[^\n]*")), re.DOTALL)


def code_files() -> Iterator[Path]:
    """Yield the Python files of the project, once each: links into the package are not followed."""
    for folder in CODE:
        for file in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in file.parents) and "target" not in file.parts:
                yield file


def prose_of_code(source: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line in docstrings and comments."""
    number = place = 0
    for found in STRING_OR_COMMENT.finditer(source):
        text, begin = found[0], source.rfind("\n", 0, found.start()) + 1
        number, place = number + source.count("\n", place, begin), begin
        if text.startswith("#"):
            yield number + 1, text.lstrip("# ")
        elif text.startswith('"""') and is_docstring(source[:begin], source[begin : found.start()]):
            yield from enumerate(text[3:-3].splitlines(), number + 1)


def is_docstring(before: str, indent: str) -> bool:
    """Return whether a string after an indent is the first statement of the file or of a block."""
    above = before.rstrip().rpartition("\n")[2].partition("  #")[0]
    return indent.strip(" ") in ("", "r") and (not above or above.endswith(":"))


def prose_of_document(source: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not part of a block of code."""
    fenced = False
    for number, line in enumerate(source.splitlines(), 1):
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith("    "):
            yield number, line


@cache
def lines(kind: str) -> list[tuple[str, str]]:
    """Return the place and the text of each line of prose in the code or in the documents."""
    files = list(code_files()) if kind == "code" else [ROOT / name for name in DOCUMENTS]
    read = prose_of_code if kind == "code" else prose_of_document
    return [
        (f"{file.relative_to(ROOT)}:{number}", text)
        for file in files
        for number, text in read(file.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("kind", ["code", "documents"])
def test_prose_is_plain(kind: str, mark: str) -> None:
    found, words = [], 0
    for place, text in lines(kind):
        words += len(text.split())
        found += [f"{place}: {text.strip()}"] * len(re.findall(MARKS[mark], text, re.IGNORECASE))
    assert 1000 * len(found) <= MOST * words, f"{mark}: {len(found)} in {words:,} words\n" + "\n".join(found)


def test_marks_are_found() -> None:
    """Each pattern on a sentence of its kind, and none on a plain one."""
    bad = [
        "Say what is left of it.",
        "the rows are those of the table",
        "Nobody reads it.",
        "Where there is no GPU, skip.",
        "as many as cores",
        "It is made again.",
        "The user is told.",
    ]
    for text, (mark, pattern) in zip(bad, MARKS.items(), strict=True):
        assert re.search(pattern, text, re.IGNORECASE), mark
    plain = "Return the layout of a table, or None if the device has too little memory."
    assert not any(re.search(pattern, plain, re.IGNORECASE) for pattern in MARKS.values())


def test_prose_is_read_from_docstrings_and_comments_only() -> None:
    source = '"""Module."""\n\nX = "text"  # a comment\n\n\ndef f():\n    """First.\n\n    Second.\n    """\n'
    assert [(number, text.strip()) for number, text in prose_of_code(source) if text.strip()] == [
        (1, "Module."),
        (3, "a comment"),
        (7, "First."),
        (9, "Second."),
    ]
    assert [number for number, _ in prose_of_document("One.\n```\ncode\n```\n    code\nTwo.\n")] == [1, 4, 6]


def test_modules_that_prose_names_are_there() -> None:
    """A file by its name or the end of its path, and a module or a name in one by its full name."""
    files = {file.relative_to(ROOT).as_posix() for file in (*code_files(), ROOT / "setup.py")}
    packages = {"graphprover/" + name: name for name in ("graphs", "kernels", "examples")}
    for place, text in lines("code"):
        for path in re.findall(r"(?<![\w./*<{-])(?:[\w-]+/)*[a-z_]\w*\.py\b", text):
            assert any(file == path or file.endswith(f"/{path}") for file in files), f"{place}: {path}"
        for named in re.findall(r"`(graphprover(?:\.\w+){2,})`", text):
            parts = named.split(".")
            here = "/".join(parts[:2])
            path = "/".join([packages.get(here, here), *parts[2:]])
            assert is_there(path, files), f"{place}: {named}"


def is_there(path: str, files: set[str]) -> bool:
    """Return whether a path is a module, a package, or a name in one of these."""
    above, _, name = path.rpartition("/")
    if {f"{path}.py", f"{path}/__init__.py"} & files or any(file.startswith(f"{path}/") for file in files):
        return True
    for file in {f"{above}.py", f"{above}/__init__.py"} & files:
        return re.search(rf"\b{name}\b", (ROOT / file).read_text(encoding="utf-8")) is not None
    return above.count("/") > 0 and is_there(above, files)
