"""Field and transforms in registers on the device against Python integers."""

import numpy as np
import pytest

from graphprover import field
from graphprover.field import P

pytestmark = pytest.mark.gpu

EDGES = [0, 1, 2, 0xFFFFFFFF, 1 << 32, (1 << 32) + 1, (1 << 63) - 1, 1 << 63, P - 2, P - 1]
WORDS = [P, P + 1, 2**64 - 2**32, 2**64 - 2, 2**64 - 1]  # not canonical

KERNELS = """
extern "C" __global__ void pairs(const u64* x, const u64* y, u64* z, u64 n) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    z[i] = field::add(x[i], y[i]);
    z[n + i] = field::sub(x[i], y[i]);
    z[2 * n + i] = field::mul(x[i], y[i]);
    z[3 * n + i] = field::neg(x[i]);
    z[4 * n + i] = field::inverse(x[i]);
    z[5 * n + i] = field::power(x[i], y[i]);
}
extern "C" __global__ void words(const u64* x, const u64* y, u64* z, u64 n) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    z[i] = field::mul(x[i], y[i]);
    z[n + i] = field::canonical(field::mul_word(x[i], y[i]));
    z[2 * n + i] = field::canonical(field::reduce(x[i], y[i]));
    z[3 * n + i] = field::canonical(x[i]);
}
extern "C" __global__ void exts(const u64* x, const u64* y, u64* z, u64 n) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Ext a = ext::load(x, n, i), b = ext::load(y, n, i);
    ext::store(z, n, i, ext::add(a, b));
    ext::store(z + 3 * n, n, i, ext::sub(a, b));
    ext::store(z + 6 * n, n, i, ext::mul(a, b));
    ext::store(z + 9 * n, n, i, ext::inverse(a));
    ext::store(z + 12 * n, n, i, ext::scale(a, b.a0));
    ext::store(z + 15 * n, n, i, ext::neg(a));
}
template <int LOG>
__device__ void transform(const u64* x, u64* z, u64* w) {
    constexpr int SIZE = 1 << LOG;
    u64 y[SIZE], v[SIZE];
    for (int i = 0; i < SIZE; i++) y[i] = v[i] = x[SIZE * threadIdx.x + i];
    dft<LOG>(y);
    inverse_dft<LOG>(v);
    for (int i = 0; i < SIZE; i++) {
        z[SIZE * threadIdx.x + i] = field::canonical(y[i]);
        w[SIZE * threadIdx.x + i] = field::canonical(v[i]);
    }
}
extern "C" __global__ void dft_1(const u64* x, u64* z, u64* w) { transform<1>(x, z, w); }
extern "C" __global__ void dft_2(const u64* x, u64* z, u64* w) { transform<2>(x, z, w); }
extern "C" __global__ void dft_3(const u64* x, u64* z, u64* w) { transform<3>(x, z, w); }
extern "C" __global__ void dft_4(const u64* x, u64* z, u64* w) { transform<4>(x, z, w); }
"""


def run(name: str, *inputs: np.ndarray, rows: int) -> np.ndarray:
    import cupy

    from graphprover.kernels.cuda import launch, sources

    n = inputs[0].shape[-1]
    target = cupy.zeros((rows, n), dtype=np.uint64)
    code = sources.source("dft.cuh") + sources.source("ext.cuh").replace(sources.source("field.cuh"), "") + KERNELS
    launch.launch(launch.compiled(code), name, -(-n // 128), 128, *map(cupy.asarray, inputs), target, n)
    return target.get()


def pairs(values: list[int]) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(1)
    random = [int(word) for word in rng.integers(0, P, 300, dtype=np.uint64)]
    return [x for x in values for _ in values] + random, [y for _ in values for y in values] + random[::-1]


def test_base_field() -> None:
    x, y = pairs(EDGES)
    result = run("pairs", np.array(x, dtype=np.uint64), np.array(y, dtype=np.uint64), rows=6)
    expected = [
        [(a + b) % P, (a - b) % P, a * b % P, -a % P, pow(a, P - 2, P), pow(a, b, P)] for a, b in zip(x, y, strict=True)
    ]
    assert result.T.tolist() == expected


def test_words_above_p() -> None:
    x, y = pairs(EDGES + WORDS)
    result = run("words", np.array(x, dtype=np.uint64), np.array(y, dtype=np.uint64), rows=4)
    expected = [[a * b % P, a * b % P, (a + (b << 64)) % P, a % P] for a, b in zip(x, y, strict=True)]
    assert result.T.tolist() == expected


def test_extension() -> None:
    words = np.array([EDGES[i % 10] if i % 3 else i * 0x9E3779B97F4A7C15 % P for i in range(2 * 999)], dtype=np.uint64)
    x, y = words.reshape(2, 3, 333)
    result = run("exts", x, y, rows=18).reshape(6, 3, 333)
    for i in range(333):
        a, b = tuple(map(int, x[:, i])), tuple(map(int, y[:, i]))
        inverse = field.ext_inv(a) if a != field.ZERO else field.ZERO
        assert [tuple(map(int, element[:, i])) for element in result] == [
            field.ext_add(a, b),
            field.ext_sub(a, b),
            field.ext_mul(a, b),
            inverse,
            field.ext_scale(a, b[0]),
            field.ext_neg(a),
        ]


@pytest.mark.parametrize("log_size", [1, 2, 3, 4])
def test_transforms_in_registers(log_size: int) -> None:
    import cupy

    from graphprover.kernels.cuda import launch, sources

    size, threads = 1 << log_size, 64
    rng = np.random.default_rng(log_size)
    words = rng.integers(0, 2**64, (threads, size), dtype=np.uint64)
    words[0] = 2**64 - 1
    words[1] = 0
    for thread in range(2, 34):  # signs at their extremes
        words[thread] = np.where(rng.random(size) < 0.5, np.uint64(2**64 - 1), np.uint64(0))
    down, up = (cupy.zeros((threads, size), dtype=np.uint64) for _ in range(2))
    code = sources.source("dft.cuh") + sources.source("ext.cuh").replace(sources.source("field.cuh"), "") + KERNELS
    launch.launch(launch.compiled(code), f"dft_{log_size}", 1, threads, cupy.asarray(words), down, up)
    root = field.root_of_unity(log_size)
    for row, forward, back in zip(words.tolist(), down.get().tolist(), up.get().tolist(), strict=True):
        natural = [sum(x * pow(root, j * k, P) for j, x in enumerate(row)) % P for k in range(size)]
        assert forward == [natural[field.reverse_bits(k, log_size)] for k in range(size)]
        assert back == [natural[-k % size] for k in range(size)]
