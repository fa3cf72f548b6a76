"""CUDA errors as RMM reports them: by a RuntimeError that names the error, unlike CuPy's classes."""


def names_cuda_error(error: RuntimeError) -> bool:
    """Return whether this is a CUDA failure, after which nothing on the device is valid."""
    return "CUDA error" in str(error) or "cudaError" in str(error)
