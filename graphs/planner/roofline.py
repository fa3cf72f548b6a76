"""How long a task takes by its plan: what devices do at most in a second, and the time that a cost takes by that."""

from dataclasses import dataclass

from graphprover.graphs.planner.costs import Cost

BYTES, MULTIPLICATIONS, BUTTERFLIES, PERMUTATIONS = "bytes", "multiplications", "butterflies", "Keccak-f"
BOUNDS = (BYTES, MULTIPLICATIONS, BUTTERFLIES, PERMUTATIONS)


@dataclass(frozen=True)
class Modelled:
    """The time of a cost."""

    seconds: float
    bound: str  # of `BOUNDS`, what the greatest part of it is for; empty where the plan knows no work


@dataclass(frozen=True)
class Roofline:
    """Rates of code that does nothing else, a second."""

    copy: float  # bytes, read and written
    multiply: float  # multiplications in the field
    butterfly: float  # multiply, add and subtract
    permute: float  # Keccak-f[1600]

    def seconds(self, cost: Cost) -> dict[str, float]:
        """How long each part of a cost takes at least."""
        return {
            BYTES: cost.moved / self.copy,
            MULTIPLICATIONS: cost.multiplications / self.multiply,
            BUTTERFLIES: cost.butterflies / self.butterfly,
            PERMUTATIONS: cost.permutations / self.permute,
        }

    def modelled(self, cost: Cost) -> Modelled:
        """The longer of two times: its bytes, and its operations, whose kinds follow each other on the same units."""
        operations = self.seconds(cost)
        moving, computing = operations.pop(BYTES), sum(operations.values())
        if moving > computing:
            return Modelled(moving, BYTES)
        return Modelled(computing, max(operations, key=operations.__getitem__) if computing else "")

    def __str__(self) -> str:
        return (
            f"copy {self.copy / 1e9:.4g} GB/s, multiply {self.multiply / 1e9:.4g} G/s, "
            f"butterfly {self.butterfly / 1e9:.4g} G/s, Keccak-f {self.permute / 1e6:.4g} M/s"
        )


@dataclass(frozen=True)
class Assumed:
    """The device whose times a picture of a plan shows."""

    name: str
    roofline: Roofline

    def __str__(self) -> str:
        return f"{self.name}: {self.roofline}"


def assumed(kind: str, threads: int) -> Assumed:
    """What is assumed of a device ``cpu`` or ``cuda``, as docs/performance.md measured."""
    if kind == "cuda":
        return Assumed("one NVIDIA H200", Roofline(copy=4.25e12, multiply=9.15e11, butterfly=5.1e11, permute=3.8e9))
    name = f"{threads} thread{'s' * (threads > 1)} of a CPU with AVX-512, each at the rates of one"
    rates = {"copy": 3.9e10, "multiply": 4.4e9, "butterfly": 2.6e9, "permute": 3.6e7}
    return Assumed(name, Roofline(**{operation: threads * rate for operation, rate in rates.items()}))
