"""The inputs of recursion's traces, on the host: the words, hashes and memory of a proof's openings."""
