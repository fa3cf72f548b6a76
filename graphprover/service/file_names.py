"""Names of the files that a browser, or ``curl -OJ``, saves."""

import re

_OTHERS = re.compile(r"[^A-Za-z0-9._-]+")


def saved_as(name: str, suffix: str) -> dict[str, str]:
    """Return the header with the name of a file; clients choose names, so other characters become hyphens."""
    stem = _OTHERS.sub("-", name).strip("-.") or "job"
    return {"Content-Disposition": f'attachment; filename="{stem}{suffix}"'}
