"""Inverses of base and extension vectors, many at a time (``inverse.cu``)."""

import cupy
import numpy as np

from graphprover.kernels.cuda.module import blocks_for, launch, load

NO_ZERO = 2**64 - 1
THREADS, WORDS, ELEMENTS = 256, 16, 8  # as in inverse.cu


def no_zero(place: cupy.ndarray) -> cupy.ndarray:
    """Makes a word, uint64 (1,), the place where kernels report the smallest index of a zero."""
    place.data.memset_async(0xFF, place.nbytes)
    return place


def inverse(source: cupy.ndarray, target: cupy.ndarray) -> None:
    """target[i] = 1 / source[i]; canonical uint64 of shape (n,), possibly the same array. Waits.

    Raises ZeroDivisionError, naming the index, for the first zero; what ``target`` holds then is undefined. Raises
    ValueError for shapes that do not agree.
    """
    _invert("inverse", WORDS, (), source, target)


def inverse_or_zero(source: cupy.ndarray) -> cupy.ndarray:
    """1 / source[i], or 0 for 0, of canonical uint64 (n,). Waits."""
    zero = source == 0
    target = cupy.where(zero, np.uint64(1), source)
    inverse(target, target)
    target[zero] = 0
    return target


def ext_inverse(source: cupy.ndarray, target: cupy.ndarray) -> None:
    """The inverses of extension vectors (3, n); otherwise as ``inverse``."""
    _invert("ext_inverse", ELEMENTS, (3,), source, target)


def _invert(kernel: str, each: int, planes: tuple[int, ...], source: cupy.ndarray, target: cupy.ndarray) -> None:
    count = source.shape[-1]
    if source.shape != (*planes, count) or source.shape != target.shape:
        raise ValueError(f"vectors of shapes {source.shape} and {target.shape} are not {(*planes, 'n')}")
    first_zero = no_zero(cupy.empty(1, dtype=cupy.uint64))
    launch(load("inverse.cu"), kernel, blocks_for(count, THREADS * each), THREADS, source, target, count, first_zero)
    index = int(first_zero.get()[0])
    if index != NO_ZERO:
        raise ZeroDivisionError(f"element {index} is zero and has no inverse")
