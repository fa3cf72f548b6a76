"""What the executors of this process are called: apart from them, as a command line names them without Dask."""

SYNCHRONOUS, THREADS = "sync", "threads"
LOCAL = (SYNCHRONOUS, THREADS)

PROCESSES, CUDA = "processes", "cuda"
CLUSTERS = (PROCESSES, CUDA)  # which last as long as they are needed
