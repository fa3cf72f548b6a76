"""From a statement to a proof by a device of this process. Start with prepare.py and local.py.

- prepare.py: the statement's layout, parameters and security; peak_memory.py: the device memory that a proof needs.
- local.py: a proof by a device of this process, admitted to its memory and verified; made.py: its record.
- layers.py: one layer of a compressed proof; layer_tree.py: the tree of layers.
- sharded.py: the graphs of a proof, one for a single shard, two for each of several.
- smallest.py: the expected cost at each rate, and the choice of the smallest proof within a time.
- assign.py: assigns tables to shards; autoshard.py: finds the number of shards that fit a device.
- observe.py: assembles the observation of a proof.
"""
