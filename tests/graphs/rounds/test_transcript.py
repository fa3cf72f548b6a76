"""What the transcript's tasks say of their challenges is there to be read."""

import inspect
import re

from graphprover.graphs.rounds import transcript
from graphprover.protocol import security


def test_every_challenge_names_its_error() -> None:
    """Those that `security` adds up, and no others."""
    source = inspect.getsource(transcript)
    named = set(re.findall(r"security\.([a-z_]+)", source))
    errors = {name for name in vars(security) if name.endswith("_errors")} | {"folds", "exceptional", "query_bits"}
    assert named == errors
    for name in errors:
        assert f"{name}(" in inspect.getsource(security._rounds), name
