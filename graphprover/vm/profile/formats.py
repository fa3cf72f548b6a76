"""The files of a profile, by the suffixes of their names."""

import json
from collections.abc import Callable, Iterator

from graphprover.vm.profile.flame import MEASURES, flame_graph
from graphprover.vm.profile.tree import Frame


def text(root: Frame, title: str, by: str) -> str:
    """Return collapsed stacks, ``main;sort;[ld] 123``, which flamegraph.pl and speedscope open."""
    stacks = ((path, getattr(frame, by)) for path, frame in leaves(root))
    return "".join(f"{';'.join(_plain(part.name) for part in path)} {count}\n" for path, count in stacks if count)


def speedscope(root: Frame, title: str, by: str) -> str:
    """Return the format of speedscope.app, with all measures, ``by`` first."""
    numbers: dict[str, int] = {}
    profiles = []
    for measure in sorted(MEASURES, key=lambda measure: measure != by):
        samples, weights = [], []
        for path, frame in leaves(root):
            if getattr(frame, measure):
                samples.append([numbers.setdefault(part.name, len(numbers)) for part in path])
                weights.append(getattr(frame, measure))
        profiles.append(
            {
                "type": "sampled",
                "name": measure,
                "unit": "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    file = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": title,
        "shared": {"frames": [{"name": name} for name in numbers]},
        "profiles": profiles,
    }
    return json.dumps(file, allow_nan=False) + "\n"


def leaves(root: Frame) -> Iterator[tuple[tuple[Frame, ...], Frame]]:
    """Yield every frame without children and the path to it from below the root, itself included."""
    waiting: list[tuple[Frame, ...]] = [(child,) for child in reversed(root.children.values())]
    while waiting:
        path = waiting.pop()
        if not path[-1].children:
            yield path, path[-1]
        waiting += [(*path, child) for child in reversed(path[-1].children.values())]


def _plain(name: str) -> str:
    """Return a name without the separators of frames."""
    return name.replace(";", ":")


FORMATS: dict[str, Callable[[Frame, str, str], str]] = {".html": flame_graph, ".txt": text, ".json": speedscope}
