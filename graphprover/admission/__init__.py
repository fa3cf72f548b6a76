"""Which proofs a device takes at once: as many as its memory holds, the heaviest first.

All processes of a user on a host share a ledger for each GPU, and one for the host's memory: a folder with a file for
each process, in which it says what its proofs hold, which of them wait, and what its pool keeps. A file is locked as
long as its process lives, so that one that is killed holds nothing any more.

Nothing waits for ever but for proofs that run. A thread has at most one grant, given as a whole, so proofs do not wait
for each other in a circle. What is kept between two parts of a proof has a grant of its own (`keep`), and is dropped as
soon as the next that waits could run without it. Memory that a pool keeps beyond its proofs is given back by a thread
of its process as soon as somebody waits, and is not waited for longer than `PATIENCE`. A process that has stopped is
passed where it waits, and loses the lock of the ledger (lock.py).

Of the processes that share a GPU one in four does not prove (`rules.has_turn`).

admitting.py is what proofs call, rules.py says who may prove, and ledger.py keeps the files.
"""
