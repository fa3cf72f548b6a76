"""graphprover: a STARK prover in which a proof is a task graph."""
