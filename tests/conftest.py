"""Settings of all tests."""

import signal

from hypothesis import settings

settings.register_profile("graphprover", deadline=None)  # a machine may be slow, and kernels are compiled at first
settings.load_profile("graphprover")

# A shell's background job ignores Ctrl-C, and the commands that tests start and interrupt would inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
