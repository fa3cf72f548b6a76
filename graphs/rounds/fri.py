"""Round 6 (FRI): commit to a codeword, fold it, add the next height's, until the final polynomial is left."""

from dataclasses import dataclass

from graphprover.device import Array, Device, Tree
from graphprover.field import Ext
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds import transcript
from graphprover.graphs.rounds.transcript import Drawn
from graphprover.protocol.layout import Layout

TREE, FOLD, FINAL = "fri_tree", "fri_fold", "fri_final"


@dataclass(frozen=True)
class Fold:
    """One fold, as tasks."""

    codeword: Node  # before the fold
    tree: Node  # over its groups of values that fold together
    drawn: Node  # Drawn: the folding challenge


@dataclass(frozen=True)
class FriRound:
    """The tasks of the round."""

    folds: list[Fold]
    final_polynomial: Node
    drawn: Node  # Drawn: the state before the final polynomial


def fold_tree(device: Device, codeword: Array, *, log_arity: int, cap_height: int, hash: str) -> Tree:
    """Return the tree whose leaves are the groups of 2^log_arity elements that fold into one."""
    return device.fold_tree(codeword, log_arity, cap_height, hash)


def fold(device: Device, codeword: Array, drawn: Drawn, joining: Array | None, *, log_arity: int) -> Array:
    """Return the folded codeword; a joining codeword is scaled by β^arity."""
    return device.fold(codeword, log_arity, drawn.challenge, joining)


def final_polynomial(device: Device, codeword: Array, *, log_length: int) -> tuple[Ext, ...]:
    """Return the coefficients of the final polynomial."""
    return device.final_polynomial(codeword, log_length)


def build(graph: Graph, layout: Layout, codewords: dict[int, Node], drawn: Node) -> FriRound:
    """Add all folds, from the codewords of all heights (by log2 of their length)."""
    parameters = layout.parameters
    of_tree = {"cap_height": parameters.cap_height, "hash": parameters.hash}
    codeword = codewords[layout.log_max_rows]
    folds = []
    for number, (log_arity, log_rows) in enumerate(
        zip(layout.fold_log_arities, layout.folded_log_heights, strict=True)
    ):
        name = f"{number}"
        tree = graph.task(TREE, name, fold_tree, codeword, log_arity=log_arity, **of_tree)
        drawn = graph.task(
            transcript.TRANSCRIPT,
            transcript.fold_step(number),
            transcript.fold_challenge,
            drawn,
            tree,
            layout=layout,
            fold=number,
        )
        folds.append(Fold(codeword, tree, drawn))
        codeword = graph.task(FOLD, name, fold, codeword, drawn, codewords.get(log_rows), log_arity=log_arity)
    final = graph.task(FINAL, "polynomial", final_polynomial, codeword, log_length=parameters.log_final_poly_len)
    return FriRound(folds, final, drawn)
