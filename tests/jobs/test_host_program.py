"""The programs of docs/api.md run, in the order of the page."""

import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_host_program_of_the_documentation(tmp_path: Path) -> None:
    """One process runs the prover's parts of the page and its verifier's."""
    page = (ROOT / "docs/api.md").read_text()
    start, end = page.index("## A host program"), page.index("## Programs, and many proofs")
    parts = re.findall(r"```python\n(.*?)```", page[start:end], re.DOTALL)
    assert len(parts) == 5
    shutil.copy(ROOT / "examples/guests/sha256.elf", tmp_path)
    (tmp_path / "host.py").write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + "".join(parts))
    done = subprocess.run([sys.executable, "host.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    digest, tasks = re.findall(r"(\w+) 0\n(\d+) tasks\n", done.stdout)[0]
    assert digest == sha256(b"the input").hexdigest() and int(tasks) > 50
