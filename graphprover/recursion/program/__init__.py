"""Programs for the steps of `machine`: how they are written, linked and run."""
