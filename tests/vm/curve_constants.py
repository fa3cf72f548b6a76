"""Write the constants of the kit's pairings as C: python -m tests.vm.curve_constants.

The numbers are computed from the parameter of each curve family. The tables of the isogenies are py_ecc's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.vm.kit import SDK

Element = tuple[int, int]  # of Fp[u] / (u^2 + 1): the real part, the factor of u
RUNTIME = SDK / "runtime"


@dataclass(frozen=True)
class Curve:
    """A curve y^2 = x^3 + b over Fp, with a subgroup of order r and a twist of degree 6 over Fp2.

    Attributes:
        name: The name of its files.
        parameter: The parameter of its family.
        p: The modulus of the field.
        r: The order of its groups.
        b: The constant of the curve.
        xi: The element of Fp2 that is w^6 in Fp12.
        divides: If the twist's constant is b / xi instead of b xi.
        order: The number of points of the twist.
    """

    name: str
    parameter: int
    p: int
    r: int
    b: int
    xi: Element
    divides: bool
    order: int

    def times(self, x: Element, y: Element) -> Element:
        """Return a product in Fp2."""
        return (x[0] * y[0] - x[1] * y[1]) % self.p, (x[0] * y[1] + x[1] * y[0]) % self.p

    def power(self, x: Element, exponent: int) -> Element:
        """Return a power in Fp2, with a negative exponent of the inverse."""
        exponent %= self.p**2 - 1
        result: Element = (1, 0)
        for bit in bin(exponent)[2:]:
            result = self.times(result, result)
            result = self.times(result, x) if bit == "1" else result
        return result

    @property
    def twist_b(self) -> Element:
        """Return the constant of the twist."""
        return self.times((self.b, 0), self.power(self.xi, -1) if self.divides else self.xi)

    @property
    def psi(self) -> tuple[Element, Element]:
        """Return the factors of the conjugates of x and y in the p-th power, on the twist."""
        sign = 1 if self.divides else -1
        return self.power(self.xi, sign * (self.p - 1) // 3), self.power(self.xi, sign * (self.p - 1) // 2)


def bn254() -> Curve:
    """Return the curve of EIP-197."""
    u = 4965661367192848881
    p = 36 * u**4 + 36 * u**3 + 24 * u**2 + 6 * u + 1
    r = 36 * u**4 + 36 * u**3 + 18 * u**2 + 6 * u + 1
    return Curve("bn254", u, p, r, 3, (9, 1), True, r * (2 * p - r))


def bls12_381() -> Curve:
    """Return the curve of EIP-2537."""
    x = -0xD201000000010000
    r = x**4 - x**2 + 1
    p = (x - 1) ** 2 * r // 3 + x
    cofactor = (x**8 - 4 * x**7 + 5 * x**6 - 4 * x**4 + 6 * x**3 - 4 * x**2 - 4 * x + 13) // 9
    return Curve("bls12_381", x, p, r, 4, (1, 1), False, r * cofactor)


def signed_digits(number: int, width: int) -> list[int]:
    """Return digits that are 0 or odd and below 2^(width - 1), the highest first.

    At most one of any ``width`` digits in a row is not 0.
    """
    digits = []
    while number:
        digit = number % 2**width if number % 2 else 0
        digit -= 2**width if digit >= 2 ** (width - 1) else 0
        digits.append(digit)
        number = (number - digit) // 2
    return digits[::-1]


def wrapped(items: Iterable[str], indent: str) -> str:
    """Return items with commas, in lines of at most 120 characters."""
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) + 1 > 120:
            lines.append(line.rstrip())
            line = indent
        line += f"{item}, "
    return "\n".join([*lines, line.rstrip()])


class Header:
    """The text of a header of constants."""

    def __init__(self, curve: Curve, about: str) -> None:
        self.curve = curve
        self.words = -(-curve.p.bit_length() // 64)
        self.text = f"/* {about}\n   Written by python -m tests.vm.curve_constants, which derives them. */\n"

    def _fp(self, number: int) -> str:
        words = ", ".join(f"0x{number % self.curve.p >> 64 * i & 2**64 - 1:016X}" for i in range(self.words))
        return f"{{{{{words}}}}}"

    def _fp2(self, element: Element, indent: str = "    ") -> str:
        return f"{{{self._fp(element[0])},\n{indent} {self._fp(element[1])}}}"

    def modulus(self) -> None:
        """Add the modulus, which is not below itself."""
        words = ", ".join(f"0x{self.curve.p >> 64 * i & 2**64 - 1:016X}" for i in range(self.words))
        self.text += f"static const fp MODULUS = {{{{{words}}}}};\n"

    def element(self, name: str, value: Element, comment: str = "") -> None:
        """Add an element of Fp2."""
        self.text += f"static const fp2 {name} ={comment and f' /* {comment} */'}\n    {self._fp2(value)};\n"

    def elements(self, name: str, values: Sequence[Element], comment: str = "") -> None:
        """Add a table of elements of Fp2."""
        rows = "".join(f"    {self._fp2(value)},\n" for value in values)
        self.text += f"static const fp2 {name}[{len(values)}] = {{{comment and f' /* {comment} */'}\n{rows}}};\n"

    def exponent(self, name: str, number: int, comment: str = "") -> None:
        """Add a big-endian number without zeros above it."""
        data = number.to_bytes(-(-number.bit_length() // 8))
        rows = wrapped((f"0x{byte:02X}" for byte in data), "    ")
        self.text += f"static const uint8_t {name}[{len(data)}] = {{{comment and f' /* {comment} */'}\n{rows}\n}};\n"

    def digits(self, name: str, digits: Sequence[int], comment: str) -> None:
        """Add signed digits."""
        rows = wrapped(map(str, digits), "    ")
        self.text += f"static const int8_t {name}[{len(digits)}] = {{ /* {comment} */\n{rows}\n}};\n"

    def write(self, name: str) -> None:
        """Write the file."""
        guard = f"{name.upper()}_H"
        (RUNTIME / f"{name}.h").write_text(self.render(guard))

    def render(self, guard: str) -> str:
        """Return the file's text."""
        first, rest = self.text.split("*/\n", 1)
        return f"{first}*/\n#ifndef {guard}\n#define {guard}\n\n{rest}\n#endif\n"


def field(curve: Curve) -> Header:
    """Return the constants of the fields of a pairing."""
    header = Header(curve, f"Constants of the fields of {curve.name}.")
    p, psi = curve.p, curve.psi
    header.modulus()
    header.exponent("MODULUS_MINUS_TWO", p - 2, "the exponent of an inverse")
    for name, number in (("ONE", 1), ("TWO", 2), ("THREE", 3)):
        header.element(f"MINUS_{name}", (-number, 0))
    for name, factor in (("XI", 1), ("TWO_XI", 2), ("THREE_XI", 3)):
        header.element(name, curve.times(curve.xi, (factor, 0)))
    header.element("TWIST_B", curve.twist_b)
    header.element("THREE_TWIST_B", curve.times(curve.twist_b, (3, 0)))
    header.element("PSI_X", psi[0], "psi takes (x, y) to these factors times the conjugates of x and y")
    header.element("PSI_Y", psi[1])
    frobenius = [curve.power(curve.xi, k * (p - 1) // 6) for k in range(6)]
    header.elements("FROBENIUS", frobenius, "XI^(k (p - 1) / 6): w^(k p) = this w^k")
    squares = [curve.power(curve.xi, k * (p**2 - 1) // 6) for k in range(6)]
    header.elements("FROBENIUS_SQUARE", squares, "XI^(k (p^2 - 1) / 6)")
    return header


def bn254_constants() -> Header:
    """Return the constants of bn254."""
    curve = bn254()
    header = field(curve)
    u = curve.parameter
    header.digits("LOOP", signed_digits(6 * u + 2, 2)[1:], "6 u + 2, below the first digit")
    digits = signed_digits(u, 4)
    header.digits("PARAMETER", digits, "u")
    header.text += f"enum {{ PARAMETER_DIGIT = {max(map(abs, digits))} }}; /* the largest one */\n"
    return header


def headers() -> dict[str, Header]:
    """Return the headers by their names."""
    return {"bn254_constants": bn254_constants()}


def main() -> None:
    """Write all headers."""
    for name, header in headers().items():
        header.write(name)


if __name__ == "__main__":
    main()
