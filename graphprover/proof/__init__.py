"""Proofs as a user holds them.

- proof.py: one proof, its header and its bytes; sharded.py: a proof of several shards; compressed.py: a compressed one.
- mock.py: a mock proof, which proves nothing.
- sizes.py: the bytes of each part of a proof.
"""
