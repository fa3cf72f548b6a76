"""The Dockerfile and .dockerignore, read by the rules of Docker that they use."""

import json
import re
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Stage:
    """A stage of the Dockerfile."""

    base: str
    """The image or the stage that it starts from."""
    instructions: list[tuple[str, str]] = field(default_factory=list)
    """Each instruction with its text, in order."""

    def texts(self, name: str) -> list[str]:
        """Return the texts of the instructions of one name."""
        return [text for instruction, text in self.instructions if instruction == name]

    def command(self, name: str = "CMD") -> list[str]:
        """Return the words of the command of CMD or HEALTHCHECK."""
        (text,) = self.texts(name)
        words: list[str] = json.loads(text[text.index("[") :])
        return words


def stages() -> tuple[dict[str, str], dict[str, Stage]]:
    """Return the arguments before the first stage, and the stages by name."""
    text = "\n".join(line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#"))
    arguments, found = dict[str, str](), dict[str, Stage]()
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        name, _, rest = line.partition(" ")
        if name == "FROM":
            base, stage = re.fullmatch(r"(\S+) AS (\S+)", rest).groups()  # type: ignore[union-attr]
            found[stage] = Stage(base)
        elif name == "ARG" and not found:
            arguments |= [rest.split("=", 1)]  # type: ignore[list-item]
        elif name:
            found[list(found)[-1]].instructions.append((name, rest))
    return arguments, found


def in_context(path: str) -> bool:
    """Return whether .dockerignore leaves a file to the build.

    The last pattern that matches the file or one of its folders counts.
    """
    parts = path.split("/")
    found = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        if not line or line.startswith("#"):
            continue
        anywhere = pattern.removeprefix("**/")
        if any(fnmatch(part, anywhere) for part in (parts if anywhere != pattern else parts[:1])):
            found = line.startswith("!")
    return found
