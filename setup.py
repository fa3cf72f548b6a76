"""What setup.cfg cannot say: the three linked folders, and links of README.md that mean nothing on an index."""

import os
import re
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

LINKED = ("kernels", "graphs", "examples")

for name in LINKED:
    if not Path("graphprover", name, "__init__.py").is_file():
        raise SystemExit(
            f"graphprover/{name} must be a symbolic link to ../{name}, and is none here: this copy of the sources was "
            f"made without symbolic links. Unpack the .tar.gz of the sources, or clone the repository with "
            f"'git clone -c core.symlinks=true' (on Windows with its Developer Mode on)."
        )


class SdistWithLinks(sdist):
    """The sources as a checkout has them: each linked folder once, and the link."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        copies = tuple(os.path.join("graphprover", name, "") for name in LINKED)
        super().make_release_tree(base_dir, [file for file in files if not file.startswith(copies)])
        for name in LINKED:
            os.symlink(os.path.join("..", name), os.path.join(base_dir, "graphprover", name))


def long_description() -> str:
    """README.md, with the names of files instead of links to them."""
    return re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", Path("README.md").read_text(encoding="utf-8"))


setup(
    cmdclass={"sdist": SdistWithLinks},
    long_description=long_description(),
    long_description_content_type="text/markdown",
)
