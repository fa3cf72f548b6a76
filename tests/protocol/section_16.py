"""The heads of docs/protocol.md, section 16, from the page alone."""

from collections.abc import Sequence
from typing import Any

from tests.protocol.section_2 import derived


def heads(shards: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the head's description of each shard, given the descriptions of its other tables."""
    airs = [air for shard in shards for air in shard]
    fields: dict[str, int] = {}
    for air in airs:
        for interaction in air["globals"]:  # a bus appears in a table first where its first lookup does
            fields.setdefault(interaction["bus"], len(interaction["fields"]))
    widest = max([1, *(derived(air, 0).widest for air in airs)])
    unused, found = int(widest not in fields.values()), []
    for shard in shards:
        names: list[str] = []
        number = 0
        while len(names) < unused:
            if f"unused {number}" not in fields:
                names.append(f"unused {number}")
            number += 1
        found.append(_head([*fields.items(), *((name, widest) for name in names)], len(shard)))
        unused += sum(len(air["locals"]) for air in shard)
    return found


def _head(buses: Sequence[tuple[str, int]], tables: int) -> dict[str, Any]:
    return {
        "main_width": 1,
        "preprocessed_width": 0,
        "num_public_values": tables,
        "nodes": [[1, 0, 0], [10, 0, 0]],
        "constraints": [0],
        "locals": [],
        "globals": [{"bus": name, "fields": [0] * width, "multiplicity": 1, "weight": 0} for name, width in buses],
    }
