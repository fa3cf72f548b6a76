"""The prover reads the tree nodes that the verifier's definition names."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphprover.graphs.rounds.query import multiproof
from graphprover.protocol.merkle import layers


@given(st.integers(0, 8), st.data())
def test_nodes_of_a_multiproof(log_leaves: int, data: st.DataObject) -> None:
    indices = data.draw(st.lists(st.integers(0, (1 << log_leaves) - 1), min_size=1, max_size=20))
    below_root = layers(np.array(indices), log_leaves)[:-1]
    sent = [layer.nodes[layer.sent] ^ 1 for layer in below_root]
    expected = [(1 << log_leaves >> level) + node for level, nodes in enumerate(sent) for node in nodes.tolist()]
    assert multiproof(np.array(indices), log_leaves).tolist() == expected


@given(st.integers(0, 8), st.data())
def test_a_lower_tree_has_the_upper_nodes(log_leaves: int, data: st.DataObject) -> None:
    lower = data.draw(st.integers(0, log_leaves))
    indices = np.array(data.draw(st.lists(st.integers(0, (1 << log_leaves) - 1), min_size=1, max_size=20)))
    nodes = multiproof(indices, log_leaves)
    assert nodes[nodes < 2 << lower].tolist() == multiproof(indices >> (log_leaves - lower), lower).tolist()
