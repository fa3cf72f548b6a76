"""FRI folds (``fri.cu``) and the final polynomial; the definitions stand in kernels/cpu/fri.py."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.field import Ext, ext_pow
from graphprover.kernels.cpu import fri
from graphprover.kernels.cuda import domain
from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch, to_host
from graphprover.kernels.cuda.tape import taped

THREADS = 256  # as in fri.cu
LOG_ARITY = 3  # largest fold in one launch: eight extension elements a thread


def fold(codeword: cupy.ndarray, log_arity: int, beta: Ext, joining: cupy.ndarray | None) -> cupy.ndarray:
    """Return the fold of a codeword (3, N) by 2^k at beta, plus beta^(2^k) times ``joining``: uint64 (3, N / 2^k).

    Raises ValueError for shapes that do not agree or a fold by 1.
    """
    size = codeword.shape[1] >> log_arity
    shapes = [codeword.shape, (3, size) if joining is None else joining.shape]
    if shapes != [(3, size << log_arity), (3, size)] or log_arity < 1 or size < 1:
        raise ValueError(f"a fold by {1 << log_arity} does not fit {shapes}")
    steps, betas = [], []
    while log_arity:
        steps.append(min(log_arity, LOG_ARITY))
        betas.append(np.array(beta, dtype=np.uint64))
        log_arity -= steps[-1]
        if log_arity:
            beta = ext_pow(beta, 1 << steps[-1])
    return taped(_fold, codeword, steps, joining, words=betas)


def _fold(
    codeword: cupy.ndarray, steps: Sequence[int], joining: cupy.ndarray | None, betas: Sequence[np.ndarray]
) -> cupy.ndarray:
    """Return the codeword folded by 2^step at each beta, the last time with ``joining``."""
    factors = domain.fold_factors(codeword.shape[1].bit_length() - 1)
    for number, (step, beta) in enumerate(zip(steps, betas, strict=True), 1):
        size = codeword.shape[1] >> step
        target = cupy.empty((3, size), dtype=cupy.uint64)
        joins = 0 if number < len(steps) or joining is None else joining
        blocks = blocks_for(size, THREADS)
        launch(kernels_of("fri.cu"), f"fold_{step}", blocks, THREADS, codeword, *factors, beta, joins, target, size)
        codeword = target
    return codeword


def final_polynomial(codeword: cupy.ndarray, log_length: int) -> tuple[Ext, ...]:
    """Return the 2^log_length coefficients of a codeword (3, N) of that degree bound, from its first 2^log_length
    values.

    Waits for them. Raises ValueError for a shorter codeword.
    """
    # All of it is read, because it is short, and a part would need a kernel that copies it first.
    return fri.final_polynomial(to_host(codeword), log_length)
