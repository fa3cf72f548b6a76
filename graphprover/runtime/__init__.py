"""What a process needs beside proofs: files, settings, signals, and the cache of compiled kernels."""
