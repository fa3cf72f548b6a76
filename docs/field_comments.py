"""A Griffe extension that uses the comment on a field's line as its description in the API reference."""

from typing import Any

import griffe


class FieldComments(griffe.Extension):
    """An extension that turns comments of attributes into docstrings."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Set the docstring of an attribute without one from the comment on its last line."""
        if attr.docstring is not None or not attr.lines:
            return
        _, mark, comment = attr.lines[-1].partition("  # ")
        if mark:
            attr.docstring = griffe.Docstring(comment, parent=attr)
