"""For all tests."""

from hypothesis import settings

settings.register_profile("graphprover", deadline=None)  # a machine may be slow, and kernels are compiled at first
settings.load_profile("graphprover")
