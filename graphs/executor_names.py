"""Executor names, separate from the executors so that the CLI can list them without importing Dask."""

SYNCHRONOUS, THREADS = "sync", "threads"
LOCAL = (SYNCHRONOUS, THREADS)  # in this process
PROCESSES, CUDA = "processes", "cuda"
CLUSTERS = (PROCESSES, CUDA)  # of worker processes on this host
AUTO = "auto"  # the background cluster, or THREADS if none runs
