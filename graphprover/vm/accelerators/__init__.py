"""Accelerators: chips that prove host calls on memory. A folder has all of one, or of several that share code.

registry.py lists them. README.md has the parts of an accelerator, and the steps to add one.
"""
