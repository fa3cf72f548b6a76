"""What round 0 makes on a device, said before it is made: a trace, or what several traces share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Recipe:
    """One task of round 0: ``function(device, *made, **fixed)``, where ``made`` is what the recipes it needs give.

    The function belongs to a module, so that the task can travel, and is pure. A trace's gives uint64 words below p, of
    this shape, on the device; what it needs may be anything.
    """

    name: str  # of the task, for people
    function: Callable[..., Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)  # known before anything is made
    needs: tuple["Recipe", ...] = ()
    shape: tuple[int, int] = (0, 0)  # (columns, rows) of a trace; nothing for what traces share


def follow(
    device: Any,
    *made: Any,
    by: Callable[..., Any],
    given: Mapping[str, Any],
    shape: tuple[int, int],
) -> Any:
    """What a recipe gives; raises ValueError for a trace that is not what the recipe said."""
    result = by(device, *made, **given)
    if shape != (0, 0) and (result.shape != shape or result.dtype != "uint64"):
        raise ValueError(f"{by.__name__} made {result.dtype} {result.shape} instead of uint64 {shape}")
    return result


def make(device: Any, recipe: Recipe, made: dict[Recipe, Any]) -> Any:
    """What a recipe gives on a `graphprover.device.Device`; ``made`` holds what others gave, and this in the end."""
    if recipe not in made:
        inputs = [make(device, needed, made) for needed in recipe.needs]
        with device.task():
            made[recipe] = follow(device, *inputs, by=recipe.function, given=recipe.fixed, shape=recipe.shape)
    return made[recipe]
