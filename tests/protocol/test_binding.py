"""The binding of a statement equals the definition in docs/protocol.md, section 11."""

import json

import pytest

from graphprover.statement.statement import binding_digest
from tests.protocol import section_11, vectors


@pytest.mark.parametrize("name", vectors.NAMES)
@pytest.mark.parametrize("label", ["", "a näme"])
def test_the_binding_is_that_of_the_page(name: str, label: str) -> None:
    stated = json.loads((vectors.FOLDER / name / "statement.json").read_text())
    vector = vectors.load(name)
    assert section_11.binding(stated | {"label": label}) == binding_digest(vector.layout, label, vector.cap)


def test_some_vectors_have_preprocessed_columns_and_some_interactions() -> None:
    loaded = [vectors.load(name) for name in vectors.NAMES]
    assert {bool(vector.preprocessed) for vector in loaded} == {True, False}
    assert any(air.locals for vector in loaded for air in vector.layout.tables)
    assert any(air.globals for vector in loaded for air in vector.layout.tables)
