"""Display of values: in notebooks, as text, in a terminal (rich), and as HTML for browsers."""
