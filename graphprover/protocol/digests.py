"""The size of a digest, the same for every hash."""

DIGEST_BYTES = 32
DIGEST_WORDS = 4
