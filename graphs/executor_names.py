"""What the two executors of this process are called; apart from them, so that a command line names them without Dask."""

SYNCHRONOUS, THREADS = "sync", "threads"
