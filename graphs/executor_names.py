"""What executors are called: apart from them, as a command line names them without Dask."""

SYNCHRONOUS, THREADS = "sync", "threads"
LOCAL = (SYNCHRONOUS, THREADS)  # in this process
PROCESSES, CUDA = "processes", "cuda"
CLUSTERS = (PROCESSES, CUDA)  # of worker processes on this host
