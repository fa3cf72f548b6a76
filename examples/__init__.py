"""Example programs that come with the package: ``graphprover prove examples/keccak``.

``fibonacci`` is the smallest, one table without a bus. ``memory`` adds a bus, a lookup and preprocessed columns.
``keccak`` hashes a file and outputs its digest. Each folder defines a program of `graphprover.jobs.programs`: its
tables, the traces for an input, and the claims of a proof. ``guests`` has compiled C programs for the machine with
their sources. ``synthetic`` makes tables of any shape for benchmarks.
"""
