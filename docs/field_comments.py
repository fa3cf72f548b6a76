"""An extension of Griffe: the comment at the end of a field's line is the field's description in the API reference."""

from typing import Any

import griffe


class FieldComments(griffe.Extension):
    """Reads the comments of attributes that have no docstring."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Of each attribute of each module and class that is read."""
        if attr.docstring is not None or not attr.lines:
            return
        _, mark, comment = attr.lines[-1].partition("  # ")
        if mark:
            attr.docstring = griffe.Docstring(comment, parent=attr)
