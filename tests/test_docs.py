"""The documentation site: links of a checkout are translated, and a broken link is an error.

``mkdocs build --strict``, in the README's test command, builds the site.
"""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from graphprover.jobs.machine_options import MACHINE_OPTIONS
from graphprover.jobs.options import OPTIONS
from tests.loading import module_at
from tests.slow import slow_after

pytest.importorskip("mkdocs", reason="the extra [docs] is not installed")

ROOT = Path(__file__).parents[1]
TABLES, README = ROOT / "docs/tables.md", ROOT / "README.md"


@pytest.fixture(scope="module")
def links() -> ModuleType:
    """Load the MkDocs hook."""
    return module_at(ROOT / "docs/links.py")


@pytest.mark.parametrize(
    ("document", "written", "shown"),
    [
        (README, "[x](docs/vm.md#memory)", "[x](vm.md#memory)"),
        (TABLES, "[x](vm.md)", "[x](vm.md)"),
        (TABLES, "[x](../SECURITY.md)", "[x](security_policy.md)"),
        (TABLES, "[prove.py](../graphprover/proving/prove.py)", "`graphprover/proving/prove.py`"),
        (README, "[kernels/](kernels)", "`kernels`"),
        (TABLES, "[the stages](../graphprover/proving/prove.py)", "the stages (`graphprover/proving/prove.py`)"),
        (TABLES, "[here](#traces), [there](https://a.example/b)", "[here](#traces), [there](https://a.example/b)"),
        (TABLES, "`[x](no.md)` and\n```\n[y](no.md)\n```", "`[x](no.md)` and\n```\n[y](no.md)\n```"),
    ],
)
def test_links_become_those_of_the_site(links: ModuleType, document: Path, written: str, shown: str) -> None:
    assert links.with_links_of_the_site(written, document) == shown


@pytest.mark.parametrize("target", ["no.md", "../docs/no.md", "../graphprover/no.py", "../../elsewhere"])
def test_a_link_to_nothing_is_an_error(links: ModuleType, target: str) -> None:
    with pytest.raises(links.PluginError, match=r"docs/tables\.md links to .*, which is not there"):
        links.with_links_of_the_site(f"[x]({target})", TABLES)


@pytest.mark.parametrize("target", slow_after(1, ["vm.md#no-such-heading", "#no-such-heading", "missing.md"]))
def test_the_build_ends_at_such_a_link(tmp_path: Path, target: str) -> None:
    """Build a site of two documents with the settings of this site."""
    settings = (ROOT / "mkdocs.yml").read_text()
    start, end = settings.index("nav:\n"), settings.index("validation:\n")
    hook = (
        settings[:start]
        .replace("hooks: [docs/links.py, docs/options.py]\n", "")
        .replace("docs_dir: docs\n", "docs_dir: pages\n")
    )
    plugins = settings.index("plugins:\n")
    (tmp_path / "mkdocs.yml").write_text(hook + settings[end:plugins])
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/vm.md").write_text("# A heading, x³ − x\n")

    def build(link: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pages/index.md").write_text(f"# Start\n\n[x]({link})\n")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)

    assert build("vm.md#a-heading-x³--x").returncode == 0, build("vm.md#a-heading-x³--x").stderr
    broken = build(target)
    assert broken.returncode != 0 and target.lstrip("#") in broken.stdout + broken.stderr


def test_the_page_of_options_has_the_table() -> None:
    hook = module_at(ROOT / "docs/options.py")
    page = hook.on_page_markdown((ROOT / "docs/options.md").read_text(), page=None, config=None, files=None)
    assert hook.MARK not in page and page.count("\n## ") == 4
    for option in (*OPTIONS, *MACHINE_OPTIONS):
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{option.name}` |"))
        assert row.count(" | ") == 4 and "|  |" not in row


def test_the_reference_has_every_public_name() -> None:
    import graphprover

    page = (ROOT / "docs/api.md").read_text()
    for name in graphprover.__all__:
        assert f".{name}\n" in page, name
