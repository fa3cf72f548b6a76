"""The plan of a proof: what each task computes and holds, before anything runs.

``plan`` builds the proof's graph without running it, ``costs`` models operations and bytes, ``roofline`` gives lower
bounds of time, ``pace`` measures this machine, and ``shard_memory`` plans the memory of sharded proofs. ``trees``
chooses the rates of a compressed proof, and ``layers`` has the cost of its layers.
"""
