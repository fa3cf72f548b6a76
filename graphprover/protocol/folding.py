"""The schedule of FRI's folds, derived from the heights of the tables (docs/protocol.md, section 10)."""

from collections.abc import Iterable

from graphprover.protocol.parameters import Parameters


def fold_log_arities(log_heights: Iterable[int], parameters: Parameters) -> tuple[int, ...]:
    """Return log2 of each fold's arity (p3-fri ``fold_schedule``).

    A fold shrinks the tallest codeword as far as ``max_log_arity`` allows, but not past the height of the next
    codeword, which joins there, nor past the length of the final polynomial.

    Args:
        log_heights: log2 of each table's rows, in any order.
        parameters: parameters of the proof.
    """
    stops = {*log_heights}
    height, final = max(stops), parameters.log_final_poly_len
    schedule = []
    while height > final:
        stop = max((stop for stop in stops if stop < height), default=final)
        schedule.append(min(height - max(stop, final), parameters.max_log_arity))
        height -= schedule[-1]
    return tuple(schedule)
