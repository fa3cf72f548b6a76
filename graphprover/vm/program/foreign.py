"""Names files that are no programs for this machine, each with its remedy."""

MAGIC = b"\x7fELF"
START = 4096  # bytes at the start of a file that tell its kind

_RISCV = 243
_COMPILE = "compile with -march=rv64im -mabi=lp64"
_TEXT = bytes({*range(32, 127), *b"\t\n\r\f", *range(128, 256)})  # UTF-8 and other supersets of ASCII

_MACHINES = {
    3: "x86",
    8: "MIPS",
    21: "PowerPC",
    40: "Arm",
    62: "x86-64",
    183: "AArch64",
    247: "BPF",
    258: "LoongArch",
}
_TYPES = {
    1: "an object file (ET_REL), not linked: link it with -lzkvm -T zkvm.ld of the guests' kit",
    3: "a shared library or position-independent executable (ET_DYN): link with -static -no-pie",
    4: "a core dump (ET_CORE): take the executable",
}


def other_file(data: bytes) -> str:
    """Return what a file is that is no ELF file, and the remedy.

    Args:
        data: The file, or its first START bytes.

    Returns:
        A phrase such as "a script: ..."; empty for a file of unknown contents.
    """
    if not data:
        return "an empty file: did the linker fail?"
    if data.startswith((b"!<arch>\n", b"!<thin>\n")):
        return "an archive of object files (a static library): link a program with it"
    if data.startswith(b"graphprover "):
        return "a proof or key of graphprover, which has no code: take the guest's ELF file"
    if data.startswith(b"#!"):
        return "a script: take the ELF file that it starts or builds"
    if not data[:START].translate(None, _TEXT):
        return f"text: if it is the source of a guest, {_COMPILE} and link it (graphprover new-guest makes a Makefile)"
    return ""


def other_elf(ident: bytes, kind: int, machine: int) -> str:
    """Return what an ELF file is that is no executable for RV64, and the remedy.

    Args:
        ident: The first 16 bytes of the file.
        kind: The file's type, e_type.
        machine: The machine's number, e_machine.

    Returns:
        A phrase such as "an object file ..."; empty for an executable for RV64.
    """
    if ident[5] != 1:
        return f"not a little-endian ELF file: {_COMPILE}, without -mbig-endian"
    if machine != _RISCV:
        name = f"{_MACHINES[machine]} (machine {machine})" if machine in _MACHINES else f"machine {machine}"
        return f"for {name}, not for RISC-V: {_COMPILE}, by a compiler for RISC-V"
    if ident[4] != 2:
        return f"not a 64-bit ELF file, but for RV32: {_COMPILE}"
    if kind != 2:
        return _TYPES.get(kind, f"of type {kind}, not an executable (ET_EXEC): link with -static -no-pie")
    return ""
