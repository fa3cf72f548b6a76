"""Import of modules that are in no package: scripts, hooks, and files written by tests."""

import importlib.util
from pathlib import Path
from types import ModuleType


def module_at(path: Path) -> ModuleType:
    """Import the module in a file, without a cache.

    Another text of the same length in the same second would pass for the one whose bytecode is there.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(path.read_bytes(), path, "exec"), vars(module))
    return module
