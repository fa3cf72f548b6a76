"""Executor names, separate from the executors so that the CLI can list them without importing Dask."""

SYNCHRONOUS, THREADS = "sync", "threads"
LOCAL = (SYNCHRONOUS, THREADS)  # in this process
PROCESSES, CUDA = "processes", "cuda"
CLUSTERS = (PROCESSES, CUDA)  # of worker processes on this host
GROWING = "growing"  # THREADS, and for a batch also one of CLUSTERS once its processes pay; no name for users
HERE = (*LOCAL, GROWING)  # which prove in this process, at least at first
AUTO = "auto"  # the background cluster, or GROWING if none runs
