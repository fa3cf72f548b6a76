"""The roofline model: peak rates of a device, and lower bounds of the time of a cost."""

from dataclasses import dataclass

from graphprover.graphs.planner.costs import Cost

BYTES, MULTIPLICATIONS, BUTTERFLIES, HASHING = BOUNDS = ("bytes", "multiplications", "butterflies", "hashing")


@dataclass(frozen=True)
class Modelled:
    """The modelled time of a cost."""

    seconds: float
    bound: str  # of `BOUNDS`: the dominant part; empty if the plan has no work for it


@dataclass(frozen=True)
class Roofline:
    """Peak rates for each second, measured by code that does nothing else."""

    copy: float  # bytes, read and written
    multiply: float  # multiplications in the field
    butterfly: float  # a multiplication, an addition and a subtraction
    keccak: float  # permutations Keccak-f[1600]
    blake3: float  # compressions of BLAKE3

    def seconds(self, cost: Cost) -> dict[str, float]:
        """Return the lower bound of the time of each part of a cost."""
        return {
            BYTES: cost.moved / self.copy,
            MULTIPLICATIONS: cost.multiplications / self.multiply,
            BUTTERFLIES: cost.butterflies / self.butterfly,
            HASHING: cost.keccak / self.keccak + cost.blake3 / self.blake3,
        }

    def modelled(self, cost: Cost) -> Modelled:
        """Return the longer of two times: bytes, and operations, which share the same units and so add up."""
        operations = self.seconds(cost)
        moving, computing = operations.pop(BYTES), sum(operations.values())
        if moving > computing:
            return Modelled(moving, BYTES)
        return Modelled(computing, max(operations, key=operations.__getitem__) if computing else "")

    def __str__(self) -> str:
        return (
            f"copy {self.copy / 1e9:.4g} GB/s, multiply {self.multiply / 1e9:.4g} G/s, "
            f"butterfly {self.butterfly / 1e9:.4g} G/s, Keccak-f {self.keccak / 1e6:.4g} M/s, "
            f"BLAKE3 {self.blake3 / 1e6:.4g} M/s"
        )


@dataclass(frozen=True)
class Assumed:
    """The device whose rates a plan assumes."""

    name: str
    roofline: Roofline

    def __str__(self) -> str:
        return f"{self.name}: {self.roofline}"


def assumed(kind: str, threads: int) -> Assumed:
    """Return the assumed rates of a device ``cpu`` or ``cuda``, as measured in docs/performance.md."""
    if kind == "cuda":
        rates = {"copy": 4.25e12, "multiply": 9.15e11, "butterfly": 5.1e11, "keccak": 3.8e9, "blake3": 2.9e10}
        return Assumed("one NVIDIA H200", Roofline(**rates))
    name = f"{threads} thread{'s' * (threads > 1)} of a CPU with AVX-512, each at the rates of one"
    rates = {"copy": 3.9e10, "multiply": 4.4e9, "butterfly": 2.6e9, "keccak": 3.6e7, "blake3": 1.3e8}
    return Assumed(name, Roofline(**{operation: threads * rate for operation, rate in rates.items()}))
