"""Process services: files, errors, exit codes, settings, signals, the cache of kernels, and the display of values."""
