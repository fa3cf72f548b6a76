"""The folds of FRI, which follow from the heights of the tables alone."""

from collections.abc import Iterable

from graphprover.protocol.parameters import Parameters


def fold_log_arities(log_heights: Iterable[int], parameters: Parameters) -> tuple[int, ...]:
    """log2 of each fold's arity, from those of the tables' rows (p3-fri ``fold_schedule``).

    A fold takes the tallest codeword down as far as `max_log_arity` allows, but not past the next codeword, which
    joins there, nor past the final polynomial.
    """
    stops = {*log_heights}
    height, final = max(stops), parameters.log_final_poly_len
    schedule = []
    while height > final:
        stop = max((stop for stop in stops if stop < height), default=final)
        schedule.append(min(height - max(stop, final), parameters.max_log_arity))
        height -= schedule[-1]
    return tuple(schedule)
