"""Imported first by the scripts: they measure the checkout they lie in, wherever they are started from and whether or
not it is installed, or the folder that GRAPHPROVER_CHECKOUT names. Their processes do the same.
"""

import os
import sys
from pathlib import Path

ROOT = os.environ.get("GRAPHPROVER_CHECKOUT") or str(Path(__file__).resolve().parents[1])

sys.path.insert(0, ROOT)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
