"""Columns whose extension is not held give the same words on a GPU as on the CPU."""

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.field import P, ext_scale, root_of_unity
from graphprover.graphs.batches import Hold
from graphprover.kernels import absorption
from graphprover.kernels.operands import Height, Unextended
from graphprover.prover.prepare import prepare
from graphprover.prover.sharded import prove_shards
from tests.random_statements import random_statement

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.gpu

ZETA, GAMMA = (5, 7, 2**40 + 1), (2**64 - 2**32, 5, 2**50)


@pytest.fixture
def device():  # type: ignore[no-untyped-def]
    from graphprover.device import cuda

    gpu = cuda.device(0)
    with gpu.task():
        yield gpu


def columns(width: int, rows: int) -> np.ndarray:
    return np.random.default_rng(width * 7919 + rows).integers(0, P, (width, rows), dtype=np.uint64)


@pytest.mark.parametrize("hash", ["keccak", "blake3"])
@pytest.mark.parametrize("piece", [1 << 28, 1 << 16, 1 << 12])
@pytest.mark.parametrize("log_blowup", [1, 3])
def test_trees(hash, piece, log_blowup, device, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(absorption, "PIECE_BYTES", piece)
    shapes = [(5, 64), (200, 64), (40, 8192), (3, 1), (133, 64), (1, 2048), (300, 1024), (513, 2), (128, 4)]
    traces, cpu = [columns(*shape) for shape in shapes], CpuDevice(2)
    extended = cpu.extend(traces, log_blowup)
    expected = cpu.merkle_tree(extended, 2, hash)
    held = device.extend([device.load(trace) for trace in traces], log_blowup)
    for mask in (511, 341, 1, 256):
        mixed = [
            Unextended.of(device.load(trace), log_blowup) if mask >> i & 1 else held[i]
            for i, trace in enumerate(traces)
        ]
        tree = device.merkle_tree(mixed, 2, hash)
        wanted = [np.arange(0, trace.shape[1] << log_blowup, trace.shape[1]) for trace in traces]
        [found], _ = device.gather([list(zip(mixed, wanted, strict=True))], [])
        assert (found == np.concatenate([matrix.T[at] for matrix, at in zip(extended, wanted, strict=True)], 1)).all()
        layers = tree.layers
        assert all((ours.get() == theirs).all() for ours, theirs in zip(layers, expected.layers, strict=True))


@pytest.mark.parametrize("log_rows", [0, 1, 5, 9, 13])
def test_openings_and_their_sums(log_rows, device) -> None:  # type: ignore[no-untyped-def]
    traces, cpu = [columns(7, 1 << log_rows), columns(30, 1 << log_rows)], CpuDevice(2)
    points = [ZETA, ext_scale(ZETA, root_of_unity(log_rows))]
    weights = device.natural_weights([(log_rows, point) for point in points])
    own = cpu.natural_weights([(log_rows, point) for point in points])
    assert all((ours.get() == theirs).all() for ours, theirs in zip(weights, own, strict=True))
    values = cpu.evaluate(traces, [own, own[:1]])
    domains = [(log_rows, point) for point in points]
    theirs = Height(traces, values, [0, 14], cpu.inverse_denominators(domains))
    ours = Height([device.load(t) for t in traces], values, [0, 14], device.inverse_denominators(domains))
    [expected], [found] = (d.reduced_traces([h], GAMMA) for d, h in ((cpu, theirs), (device, ours)))
    assert (found.get() == expected).all()


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("hold", [Hold.TRACES, Hold.MAIN])
def test_proofs(seed, hold, device) -> None:  # type: ignore[no-untyped-def]
    parameters, statement = random_statement(seed, tables=1 + seed % 4, max_log_height=3 + seed % 12, max_degree=5)
    prepared = prepare(statement, parameters=parameters)
    holds = dict.fromkeys(range(len(prepared.layout.tables)), hold)
    expected = prove_shards(prepared, CpuDevice(2), "sync").proof
    assert prove_shards(prepared, device, "sync", holds=holds).proof == expected
