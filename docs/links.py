"""A hook of MkDocs: makes pages of the documents at the root, and follows links to files that are no pages.

Links in the documents are those of a checkout. A link to another document becomes one to its page; one to a source file
or a folder becomes its name. A link to nothing ends the build.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
AT_THE_ROOT = {
    ROOT / "README.md": "index.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "CHANGELOG.md": "changelog.md",
    ROOT / "SECURITY.md": "security_policy.md",
}
# Code is matched first, and left alone; pictures are no links.
LINK = re.compile(r"^```.*?^```|`[^`\n]+`|(?<!!)\[(?P<text>[^]]*)\]\((?P<target>[^)\s]+)\)", re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(r"[a-z]+:|#")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the documents at the root."""
    for document, name in AT_THE_ROOT.items():
        files.append(File.generated(config, name, abs_src_path=str(document)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Writes links as the site has them."""
    assert page.file.abs_src_path is not None
    return with_links_of_the_site(markdown, Path(page.file.abs_src_path))


def with_links_of_the_site(markdown: str, document: Path) -> str:
    """The text of ``document`` with its links changed. Raises PluginError for a link to nothing."""

    def changed(match: re.Match[str]) -> str:
        text, target = match["text"], match["target"]
        if target is None or ELSEWHERE.match(target):
            return match[0]
        name, hash_, anchor = target.partition("#")
        file = (document.parent / name).resolve()
        if not file.exists() or not file.is_relative_to(ROOT):
            raise PluginError(f"{document.relative_to(ROOT)} links to {target}, which is not there")
        page = AT_THE_ROOT.get(file) or (file.name if file.parent == DOCS and file.suffix == ".md" else None)
        if page:
            return f"[{text}]({page}{hash_}{anchor})"
        path = f"`{file.relative_to(ROOT)}`"
        return path if text.strip("`/") in path else f"{text} ({path})"

    return LINK.sub(changed, markdown)
