"""Admission of proofs to a device: all that fit in its memory, the largest first.

All processes of a user on a host share a ledger for each GPU and one for the host's memory. A ledger is a folder with a
file for each process: the memory of its running proofs, its waiting proofs, and the bytes in its pool. A process locks
its file for its lifetime, so a killed process holds nothing.

A proof only waits for running proofs. Each thread holds at most one grant, acquired atomically, so deadlock is
impossible. Memory cached between the two tasks of a shard has its own grant (`admission.keep`) and is dropped as soon
as the next waiting proof could run without it. A background thread trims the pool of a process while others wait, and
no process waits for a pool longer than `ledger.PATIENCE`. A stopped process is skipped and loses the ledger's lock
(lock.py).

At most three quarters of the processes sharing a GPU prove at the same time (`policy.has_turn`).

admission.py is the interface for proofs, policy.py has the rules, and ledger.py keeps the files.
"""
