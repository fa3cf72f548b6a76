"""The machine's version, the frozen numbers of its chips, and a digest of all its tables.

Program tables and statements name chips by these numbers. A change of a number, or of a constraint of any table, makes
another machine. It takes a new MACHINE_VERSION and the digest of ``machine.machine_digest``; a test compares the two.
The digest also covers SHAPES_VERSION, the version of the rules by which verifiers accept the tables and heights of a
proof (``shape``, docs/shapes.md): a key is for one machine and one set of rules.
"""

from collections.abc import Mapping
from types import MappingProxyType

MACHINE_VERSION = 11
SHAPES_VERSION = 4
MACHINE_DIGEST = bytes.fromhex("24f8ba3eef1db34f18265c560b37fc5ad06d2e26c50bb6c366932744186543b0")

CHIP_NUMBERS: Mapping[str, int] = MappingProxyType({
    "goto": 1, "touch": 2, "constant": 3, "move": 4, "jal": 5, "jalr": 6, "return": 7, "addi": 8, "addi_narrow": 9,
    "add": 10, "add_narrow": 11, "sub": 12, "addiw": 13, "addw": 14, "subw": 15, "equal": 16, "unequal": 17,
    "zero": 18, "nonzero": 19, "negative": 20, "nonnegative": 21, "ltu": 22, "geu": 23, "lt": 24, "ge": 25,
    "sltu": 26, "slt": 27, "sltiu": 28, "slti": 29, "mul": 30, "mulw": 31, "mulh": 32, "mulhsu": 33, "mulhu": 34,
    "ld": 35, "lw": 36, "lwu": 37, "lh": 38, "lhu": 39, "lb": 40, "lbu": 41, "sd": 42, "sw": 43, "sh": 44, "sb": 45,
    "halt": 46, "keccak_call": 47, "and": 48, "andi_positive": 49, "andi_negative": 50, "or": 51, "ori_positive": 52,
    "ori_negative": 53, "xor": 54, "xori_positive": 55, "xori_negative": 56, "slli_0": 57, "sll_0": 58, "slli_1": 59,
    "sll_1": 60, "slli_2": 61, "sll_2": 62, "slli_3": 63, "sll_3": 64, "slliw_0": 65, "sllw_0": 66, "slliw_1": 67,
    "sllw_1": 68, "srli_0": 69, "srl_0": 70, "srli_1": 71, "srl_1": 72, "srli_2": 73, "srl_2": 74, "srli_3": 75,
    "srl_3": 76, "srliw_0": 77, "srlw_0": 78, "srliw_1": 79, "srlw_1": 80, "srai_0": 81, "sra_0": 82, "srai_1": 83,
    "sra_1": 84, "srai_2": 85, "sra_2": 86, "srai_3": 87, "sra_3": 88, "sraiw_0": 89, "sraw_0": 90, "sraiw_1": 91,
    "sraw_1": 92, "div": 93, "divu": 94, "rem": 95, "remu": 96, "divw": 97, "divuw": 98, "remw": 99, "remuw": 100,
    "lh_unaligned": 101, "lh_crossing": 102, "lhu_unaligned": 103, "lhu_crossing": 104, "sh_unaligned": 105,
    "sh_crossing": 106, "lw_unaligned": 107, "lw_crossing": 108, "lwu_unaligned": 109, "lwu_crossing": 110,
    "sw_unaligned": 111, "sw_crossing": 112, "ld_crossing": 113, "sd_crossing": 114, "move_in_place": 115,
    "jalr_in_place": 116, "addi_in_place": 117, "addi_narrow_in_place": 118, "add_in_place": 119,
    "add_narrow_in_place": 120, "sub_in_place": 121, "addiw_in_place": 122, "addw_in_place": 123,
    "subw_in_place": 124, "sltu_in_place": 125, "slt_in_place": 126, "sltiu_in_place": 127, "slti_in_place": 128,
    "mul_in_place": 129, "mulw_in_place": 130, "mulh_in_place": 131, "mulhsu_in_place": 132, "mulhu_in_place": 133,
    "ld_in_place": 134, "lw_in_place": 135, "lwu_in_place": 136, "lh_in_place": 137, "lhu_in_place": 138,
    "lb_in_place": 139, "lbu_in_place": 140, "and_in_place": 141, "andi_positive_in_place": 142,
    "andi_negative_in_place": 143, "or_in_place": 144, "ori_positive_in_place": 145, "ori_negative_in_place": 146,
    "xor_in_place": 147, "xori_positive_in_place": 148, "xori_negative_in_place": 149, "slli_0_in_place": 150,
    "sll_0_in_place": 151, "slli_1_in_place": 152, "sll_1_in_place": 153, "slli_2_in_place": 154,
    "sll_2_in_place": 155, "slli_3_in_place": 156, "sll_3_in_place": 157, "slliw_0_in_place": 158,
    "sllw_0_in_place": 159, "slliw_1_in_place": 160, "sllw_1_in_place": 161, "srli_0_in_place": 162,
    "srl_0_in_place": 163, "srli_1_in_place": 164, "srl_1_in_place": 165, "srli_2_in_place": 166,
    "srl_2_in_place": 167, "srli_3_in_place": 168, "srl_3_in_place": 169, "srliw_0_in_place": 170,
    "srlw_0_in_place": 171, "srliw_1_in_place": 172, "srlw_1_in_place": 173, "srai_0_in_place": 174,
    "sra_0_in_place": 175, "srai_1_in_place": 176, "sra_1_in_place": 177, "srai_2_in_place": 178,
    "sra_2_in_place": 179, "srai_3_in_place": 180, "sra_3_in_place": 181, "sraiw_0_in_place": 182,
    "sraw_0_in_place": 183, "sraiw_1_in_place": 184, "sraw_1_in_place": 185, "div_in_place": 186,
    "divu_in_place": 187, "rem_in_place": 188, "remu_in_place": 189, "divw_in_place": 190, "divuw_in_place": 191,
    "remw_in_place": 192, "remuw_in_place": 193, "lh_unaligned_in_place": 194, "lh_crossing_in_place": 195,
    "lhu_unaligned_in_place": 196, "lhu_crossing_in_place": 197, "lw_unaligned_in_place": 198,
    "lw_crossing_in_place": 199, "lwu_unaligned_in_place": 200, "lwu_crossing_in_place": 201,
    "ld_crossing_in_place": 202, "modular": 203, "point": 204, "keccak_absorb": 205, "sha256": 206,
    "modular_384": 207, "fp2_bn254": 208, "fp2_bls12_381": 209,
})  # fmt: skip
