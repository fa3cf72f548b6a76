"""``python -m graphprover``: the command line."""

import sys

from graphprover.cli import main

sys.exit(main())
