"""The head of a proof: everything that the verifier's program takes from a statement, as words that are hashed.

- heads.py: the heads of all proofs of a layer, and their list.
- head.py: a head; areas.py: the memory of a run by names; messages.py: the messages of a transcript.
- fields.py: the words of a head by their names; entries.py: addresses of the program's instructions that they name.
- gates.py, terms.py: the builder of gates; placed.py: gates as words, and their values.
- constraints.py, domains.py, batching.py, inputs.py: the gates of a verifier.
"""
