"""How RMM says that CUDA has failed: by a RuntimeError that names CUDA's error, where CuPy has classes."""


def names_cuda_error(error: RuntimeError) -> bool:
    """Whether this is CUDA's failure, after which nothing on the device can be trusted."""
    return "CUDA error" in str(error) or "cudaError" in str(error)
