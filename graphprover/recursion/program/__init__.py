"""Programs for the table `core`: how they are written, linked and run."""
