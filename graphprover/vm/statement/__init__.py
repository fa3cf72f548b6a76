"""The statement about a run that verifier and prover share: tables, shapes, claims, keys. Start with statement.py."""
