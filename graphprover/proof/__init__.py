"""Proofs as a user holds them.

- proof.py: one proof, its header and its bytes; sharded.py: a proof of several shards.
- sizes.py: the bytes of each part of a proof; plonky3.py: exports a proof for Plonky3's verifier.
"""
