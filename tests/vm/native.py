"""The kit's arithmetic in C as a library of this computer."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.vm.kit import SDK

SOURCES = [SDK / "host/arithmetic.c"]
NAMES = ("bls12_381_map", "bls12_381_pairing", "bls12_381_points", "bls12_381_sums", "bn254_g1", "bn254_pairing")
NAMES += ("kzg", "modexp", "points", "power", "secp256k1", "secp256r1")
SOURCES += [SDK / f"runtime/{name}.c" for name in NAMES]
REST = """
#include "runtime.h"
#include <stdlib.h>
#include <string.h>

static char room[1 << 22] __attribute__((aligned(64)));
static size_t used;

void *__zkvm_scratch(size_t size, size_t align)
{
    used = (used + align - 1) / align * align;
    if (used + size > sizeof room)
        abort();
    used += size;
    return memset(room + used - size, 0xA5, size);
}

size_t __zkvm_scratch_mark(void) { return used; }
void __zkvm_scratch_release(size_t mark) { used = mark; }
void __zkvm_fail(const char *message, size_t size) { (void)message, (void)size; abort(); }

void paint_stack(void)
{
    char stack[1 << 16];

    memset(stack, 0xA5, sizeof stack);
    __asm__ volatile("" : : "r"(stack) : "memory"); /* so that the compiler does not omit it */
}
"""
FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]


class Library(ctypes.CDLL):
    """A library whose functions find 0xA5, which is no bool, in the bytes of variables without a value."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function, paint = self[name], self["paint_stack"]

        def call(*arguments: Any) -> Any:
            paint()
            return function(*arguments)

        return call


def native_library(folder: Path) -> ctypes.CDLL:
    """Return the accelerator functions and the software of host calls, compiled into a folder."""
    (folder / "rest.c").write_text(REST)
    command = ["gcc", *FLAGS, "-shared", "-fPIC", f"-I{SDK / 'include'}", f"-I{SDK / 'runtime'}"]
    subprocess.run([*command, *SOURCES, folder / "rest.c", "-o", folder / "library.so"], check=True)
    return Library(str(folder / "library.so"))
