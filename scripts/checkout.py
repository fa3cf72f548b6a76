"""Imported first by the scripts: they measure the checkout they lie in, wherever they are started from and whether or
not it is installed. Their processes do the same.
"""

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])

sys.path.insert(0, ROOT)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
