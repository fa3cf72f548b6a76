"""Programs for the steps of `machine`: how they are written and linked."""
