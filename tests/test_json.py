"""What the package and its scripts write as JSON is JSON: it has no NaN and no Infinity."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_each_writer_refuses_numbers_that_json_lacks() -> None:
    found = 0
    for path in (*(ROOT / "graphprover").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.dump", "json.dumps"):
                found += 1
                given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                assert given.get("allow_nan") == "False", f"{path}:{node.lineno}"
    assert found > 20
