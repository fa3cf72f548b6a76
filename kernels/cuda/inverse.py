"""Inverses of vectors, many words at a time (``inverse.cu``)."""

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch, to_host

NO_ZERO = 2**64 - 1
THREADS, WORDS = 256, 16  # as in inverse.cu


def no_zero(place: cupy.ndarray) -> cupy.ndarray:
    """Make words of an array, uint64, the places where kernels report the smallest index of a zero."""
    # By a kernel: a tape repeats launches, and nothing else.
    blocks = blocks_for(place.size, THREADS)
    launch(kernels_of("inverse.cu"), "fill", blocks, THREADS, place, place.size, NO_ZERO)
    return place


def inverse(source: cupy.ndarray, target: cupy.ndarray) -> None:
    """target[i] = 1 / source[i]; canonical uint64 of shape (n,), possibly the same array. Waits.

    Raises ZeroDivisionError, naming the index, for the first zero; what ``target`` holds then is undefined. Raises
    ValueError for shapes that do not agree.
    """
    if source.ndim != 1 or source.shape != target.shape:
        raise ValueError(f"vectors of shapes {source.shape} and {target.shape} are not (n,)")
    count = len(source)
    first_zero = no_zero(cupy.empty(1, dtype=cupy.uint64))
    blocks = blocks_for(count, THREADS * WORDS)
    launch(kernels_of("inverse.cu"), "inverse", blocks, THREADS, source, target, count, first_zero)
    index = int(to_host(first_zero)[0])
    if index != NO_ZERO:
        raise ZeroDivisionError(f"element {index} is zero and has no inverse")


def inverse_or_zero(source: cupy.ndarray) -> cupy.ndarray:
    """1 / source[i], or 0 for 0, of canonical uint64 (n,). Waits."""
    zero = source == 0
    target = cupy.where(zero, np.uint64(1), source)
    inverse(target, target)
    target[zero] = 0
    return target
