"""FRI folds on the device against the CPU's."""

import numpy as np
import pytest

from graphprover.kernels.cpu import domain
from graphprover.kernels.cpu import fri as cpu

cupy = pytest.importorskip("cupy")
from graphprover.kernels.cuda import fri as cuda  # noqa: E402
from tests.cuda.test_inverse import random_words  # noqa: E402

pytestmark = pytest.mark.gpu

BETA = (3, 2**63 + 5, 2**64 - 2**33)


@pytest.mark.parametrize("joins", [False, True])
@pytest.mark.parametrize("log_arity", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("log_size", [0, 1, 4, 8, 11])
def test_fold(log_size, log_arity, joins):
    size = 1 << log_size
    codeword = random_words((3, size << log_arity), log_size)
    joining = random_words((3, size), log_arity) if joins else None
    expected = np.empty((3, size), dtype=np.uint64)
    factors = domain.fold_factors(log_size + log_arity)
    cpu.fold_groups(codeword, log_arity, BETA, factors, joining, expected, 0, size)
    folded = cuda.fold(cupy.asarray(codeword), log_arity, BETA, None if joining is None else cupy.asarray(joining))
    np.testing.assert_array_equal(folded.get(), expected)


@pytest.mark.parametrize("log_length", [0, 1, 4])
def test_final_polynomial(log_length):
    codeword = random_words((3, 64), 1)
    assert cuda.final_polynomial(cupy.asarray(codeword), log_length) == cpu.final_polynomial(codeword, log_length)


def test_shapes_must_agree():
    codeword = cupy.asarray(random_words((3, 8), 0))
    with pytest.raises(ValueError, match="does not fit"):
        cuda.fold(codeword, 1, BETA, codeword)
    with pytest.raises(ValueError, match="does not fit"):
        cuda.fold(codeword, 0, BETA, None)
    with pytest.raises(ValueError, match="does not fit"):
        cuda.fold(codeword, 4, BETA, None)
