"""Example programs that come with the package: ``graphprover prove examples/keccak``.

``fibonacci`` is the smallest, one table without a bus; ``memory`` adds a bus, a lookup and preprocessed columns;
``keccak`` hashes a file and states its digest. Each folder defines the functions that `graphprover.jobs.programs`
requires: ``tables``, ``prove_inputs`` and ``describe``. ``guests`` contains compiled C programs for the machine and
their sources, ``block`` a guest that checks Ethereum blocks and what its host needs; ``synthetic`` generates tables of
any shape for benchmarks.
"""
