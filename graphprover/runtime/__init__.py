"""Process services: files, settings, signals, the cache of compiled kernels, and the display of values."""
