"""The check that arrays are as kernels read them."""

from graphprover.device import Array


def require_array(what: str, array: Array, shape: tuple[int | str, ...], dtype: str = "uint64") -> None:
    """Raise ValueError if an array is not contiguous, or of another shape or dtype.

    Args:
        what: The array's name and its verb, for the message.
        array: The array.
        shape: The size of each axis; a text stands for any size.
        dtype: The dtype.
    """
    fits = len(array.shape) == len(shape) and all(
        isinstance(size, str) or size == own for size, own in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype or not array.flags.c_contiguous:
        sizes = ", ".join(map(str, shape))
        raise ValueError(f"{what} contiguous {dtype} ({sizes}), not {array.dtype} {array.shape}")
