"""The compression of SHA-256."""
