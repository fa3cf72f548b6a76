"""Programs to prove, which come with the package: ``graphprover prove examples/keccak``.

``fibonacci`` is the smallest, one table without a bus; ``memory`` adds a bus, a lookup and preprocessed columns;
``keccak`` hashes a file and states its digest. Each folder says what `graphprover.jobs.programs` asks of a program: its
tables, the traces for an input, and what a proof says. ``guests`` holds compiled C programs for the machine, with their
sources; ``synthetic`` makes tables of any shape for measuring.
"""
