"""A hook of MkDocs that adds the documents of the root folder as pages and rewrites links.

Links in the documents are valid in a checkout. The hook turns a link to another document into a link to its page, and a
link to a source file or a folder into its name. A broken link ends the build.
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
# Code is matched first, so that its contents stay unchanged; pictures are not links.
LINK = re.compile(r"^```.*?^```|`[^`\n]+`|(?<!!)\[(?P<text>[^]]*)\]\((?P<target>[^)\s]+)\)", re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(r"[a-z]+:|#")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents of the root folder."""
    for document, name in AT_THE_ROOT.items():
        files.append(File.generated(config, name, abs_src_path=str(document)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page for the site."""
    assert page.file.abs_src_path is not None
    return with_links_of_the_site(markdown, Path(page.file.abs_src_path))


def with_links_of_the_site(markdown: str, document: Path) -> str:
    """Return the text of ``document`` with links rewritten for the site.

    Raises:
        PluginError: A link has no target.
    """

    def changed(match: re.Match[str]) -> str:
        text, target = match["text"], match["target"]
        if target is None or ELSEWHERE.match(target):
            return match[0]
        name, hash_, anchor = target.partition("#")
        file = (document.parent / name).resolve()
        if not file.exists() or not file.is_relative_to(ROOT):
            raise PluginError(f"{document.relative_to(ROOT)} links to {target}, which is not there")
        if file.is_relative_to(DOCS) and file.suffix == ".png":
            return match[0]
        page = AT_THE_ROOT.get(file) or (file.name if file.parent == DOCS and file.suffix == ".md" else None)
        if page:
            return f"[{text}]({page}{hash_}{anchor})"
        path = f"`{file.relative_to(ROOT)}`"
        return path if text.strip("`/") in path else f"{text} ({path})"

    return LINK.sub(changed, markdown)
