"""The transcript's tasks name the error of each challenge."""

import inspect
import re

from graphprover.graphs.rounds import transcript
from graphprover.protocol import security


def test_every_challenge_names_its_error() -> None:
    """Name exactly the errors that `security` adds up."""
    source = inspect.getsource(transcript)
    named = set(re.findall(r"security\.([a-z_]+)", source))
    errors = {name for name in vars(security) if name.endswith("_errors")} | {"folds", "exceptional", "query_bits"}
    assert named == errors
    for name in errors:
        assert f"{name}(" in inspect.getsource(security._rounds), name
