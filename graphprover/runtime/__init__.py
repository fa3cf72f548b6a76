"""Process services: files, settings, signals, and the cache of compiled kernels."""
