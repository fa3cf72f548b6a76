"""Put the scripts' own checkout first on the path, wherever they are started from and whether or not it is installed.

Imported first by every script. GRAPHPROVER_CHECKOUT names another folder. Child processes inherit both.
"""

import os
import sys
from pathlib import Path

ROOT = os.environ.get("GRAPHPROVER_CHECKOUT") or str(Path(__file__).resolve().parents[1])

sys.path.insert(0, ROOT)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
