"""Write the constants of the kit's pairings as C: python -m tests.vm.curve_constants.

The numbers are computed from the parameter of each curve family. The tables of the isogenies are py_ecc's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from py_ecc import optimized_bls12_381 as bls
from py_ecc.bls.point_compression import decompress_G2
from py_ecc.bls.typing import G2Compressed
from py_ecc.optimized_bls12_381 import constants as tables

from tests.conformance.reference import TAU_G2
from tests.vm.kit import SDK

Element = tuple[int, int]  # of Fp[u] / (u^2 + 1): the real part, the factor of u
RUNTIME = SDK / "runtime"
PARTS = ("X_NUMERATOR", "X_DENOMINATOR", "Y_NUMERATOR", "Y_DENOMINATOR")  # of an isogeny


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

    def root(self, x: Element) -> Element:
        """Return a square root of a square in Fp2, for a p^2 of 9 modulo 16 or a p of 3 modulo 4 and an x in Fp."""
        if x[1] == 0 and pow(x[0], (self.p - 1) // 2, self.p) == 1:
            return pow(x[0], (self.p + 1) // 4, self.p), 0
        start = self.power(x, (self.p**2 + 7) // 16)
        found = (self.times(start, unit) for unit in self.eighth_roots())
        return next(root for root in found if self.times(root, root) == x)

    def eighth_roots(self) -> list[Element]:
        """Return the powers 0 to 3 of an eighth root of 1: the others are their negatives."""
        unit = self.power(self.xi, (self.p**2 - 1) // 8)
        if self.power(unit, 4) != (self.p - 1, 0):
            raise ValueError("xi is a square")
        return [self.power(unit, k) for k in range(4)]

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


def binary_digits(number: int) -> list[int]:
    """Return the digits 0 and 1, the highest first."""
    return [int(bit) for bit in f"{number:b}"]


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

    def _fp(self, number: int, indent: str) -> str:
        words = [f"0x{number >> 64 * i & 2**64 - 1:016X}" for i in range(self.words)]
        rows = [", ".join(words[i : i + 4]) for i in range(0, self.words, 4)]
        return f"{{{{{f',{chr(10)}{indent}  '.join(rows)}}}}}"

    def _fp2(self, element: Element, indent: str = "    ") -> str:
        parts = (self._fp(part % self.curve.p, f"{indent} ") for part in element)
        return f"{{{f',{chr(10)}{indent} '.join(parts)}}}"

    def modulus(self) -> None:
        """Add the modulus, which is not below itself."""
        self.text += f"static const fp MODULUS =\n    {self._fp(self.curve.p, '    ')};\n"

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

    def number(self, name: str, value: int, comment: str = "") -> None:
        """Add a number of 256 bits."""
        words = ", ".join(f"0x{value >> 64 * i & 2**64 - 1:016X}" for i in range(4))
        self.text += f"static const number {name} ={comment and f' /* {comment} */'}\n    {{{{{words}}}}};\n"

    def point(self, name: str, coordinates: Sequence[Element], comment: str) -> None:
        """Add a point with coordinates in Fp2."""
        rows = "".join(f"    {self._fp2(value)},\n" for value in coordinates)
        self.text += f"static const affine {name} = {{ /* {comment} */\n{rows}}};\n"

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


def bls12_381_constants() -> Header:
    """Return the constants of BLS12-381 that more than one function has."""
    curve = bls12_381()
    header = field(curve)
    p, x = curve.p, -curve.parameter
    header.element("FIRST_B", (curve.b, 0), "of y^2 = x^3 + b, the curve of G1")
    header.element("MINUS_HALF", (-pow(2, -1, p), 0))
    header.element("MINUS_PSI_Y", curve.times(curve.psi[1], (-1, 0)))
    header.element("PHI_X", (cube_root(curve), 0), "(x, y) to (this x, y) multiplies by -(parameter^2) in G1")
    header.number("ORDER", curve.r, "of the groups")
    header.number("PARAMETER", x, "the negative one of the curve's family")
    header.number("PARAMETER_SQUARE", x * x)
    header.digits("PARAMETER_BITS", binary_digits(x), "the highest first")
    header.digits("PARAMETER_DIGITS", signed_digits(x, 2)[::-1], "the lowest first")
    header.digits("PARAMETER_SQUARE_DIGITS", signed_digits(x * x, 2)[::-1], "the lowest first")
    return header


def cube_root(curve: Curve) -> int:
    """Return the root of X^2 + X + 1 that takes the generator (x, y) of G1 to its multiple by -(parameter^2)."""
    x, y = map(int, bls.normalize(bls.multiply(bls.G1, -(curve.parameter**2) % curve.r)))
    root = x * pow(int(bls.G1[0]), -1, curve.p) % curve.p
    if y != int(bls.G1[1]) or (root * root + root + 1) % curve.p:
        raise ValueError("not the image of an endomorphism")
    return root


def kzg_constants() -> Header:
    """Return the constants of the check of KZG proofs."""
    curve = bls12_381()
    header = Header(curve, "Constants of the check of KZG proofs.")
    header.exponent("ROOT_EXPONENT", (curve.p + 1) // 4, "of a square root in the field")
    header.number("MINUS_ONE_FACTOR", curve.r - 1)
    header.point("GENERATOR", [(int(value), 0) for value in bls.normalize(bls.G1)], "of G1")
    header.point("MINUS_SECOND_GENERATOR", pairs(bls.normalize(bls.neg(bls.G2))), "of G2")
    tau = decompress_G2(G2Compressed((int.from_bytes(TAU_G2[:48]), int.from_bytes(TAU_G2[48:]))))
    header.point("TAU", pairs(bls.normalize(tau)), "tau of Ethereum's KZG ceremony times the generator of G2")
    return header


def pairs(elements: Iterable[bls.FQ2]) -> list[Element]:
    """Return elements of Fp2 of py_ecc as pairs."""
    return [(int(element.coeffs[0]), int(element.coeffs[1])) for element in elements]


def map_constants() -> Header:
    """Return the constants of the maps to the groups: RFC 9380, sections 8.8 and E."""
    curve = bls12_381()
    header = Header(curve, "Constants of the maps to the groups of BLS12-381.")
    p, x = curve.p, -curve.parameter
    for name, (a, b, z) in map_parameters().items():
        for letter, element in (("A", a), ("B", b), ("Z", z)):
            header.element(f"{name}_{letter}", element)
    header.exponent("G1_EXPONENT", (p - 3) // 4)
    header.exponent("G2_EXPONENT", (p**2 - 9) // 16)
    units = curve.eighth_roots()
    cubes = {name: curve.power(z, 3) for name, (_, _, z) in map_parameters().items()}
    header.elements("G1_ROOTS", [(1, 0)])
    header.elements("G1_OTHERS", [curve.root(curve.times(cubes["G1"], (-1, 0)))], "a root of -Z^3")
    header.elements("G2_ROOTS", units, "the eighth roots of 1, up to signs")
    odd = [curve.power(units[1], k) for k in (1, 3, 5, 7)]
    others = [curve.root(curve.times(cubes["G2"], curve.power(unit, -1))) for unit in odd]
    header.elements("G2_OTHERS", others, "roots of Z^3 / c for the primitive eighth roots c of 1")
    for name, polynomials in isogenies().items():
        for part, table in zip(
            ("X_NUMERATOR", "X_DENOMINATOR", "Y_NUMERATOR", "Y_DENOMINATOR"), polynomials, strict=True
        ):
            header.elements(f"{name}_{part}", table[::-1], "the highest degree first")
    header.digits("G1_COFACTOR", signed_digits(1 + x, 2)[::-1], "1 - parameter, the lowest first")
    header.digits("G2_COFACTOR", signed_digits(x * x + x - 1, 2)[::-1], "parameter^2 - parameter - 1")
    header.digits("G2_COFACTOR_OF_IMAGE", signed_digits(x + 1, 2)[::-1], "1 - parameter")
    return header


def map_parameters() -> dict[str, tuple[Element, Element, Element]]:
    """Return A, B and Z of the maps to both groups."""
    first = [(int(value), 0) for value in (tables.ISO_11_A, tables.ISO_11_B, tables.ISO_11_Z)]
    second = pairs([tables.ISO_3_A, tables.ISO_3_B, tables.ISO_3_Z])
    return {"G1": (first[0], first[1], first[2]), "G2": (second[0], second[1], second[2])}


def isogenies() -> dict[str, list[list[Element]]]:
    """Return the coefficients of each isogeny's four polynomials, the lowest degree first."""
    first = [[(int(value), 0) for value in table] for table in tables.ISO_11_MAP_COEFFICIENTS]
    second = [pairs(table) for table in tables.ISO_3_MAP_COEFFICIENTS]
    for table in first + second:
        while table[-1] == (0, 0):
            table.pop()
    return {"G1": first, "G2": second}


def headers() -> dict[str, Header]:
    """Return the headers by their names."""
    return {
        "bn254_constants": bn254_constants(),
        "bls12_381_constants": bls12_381_constants(),
        "bls12_381_map_constants": map_constants(),
        "kzg_constants": kzg_constants(),
    }


def main() -> None:
    """Write all headers."""
    for name, header in headers().items():
        header.write(name)


if __name__ == "__main__":
    main()
