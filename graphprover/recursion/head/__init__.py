"""The head of a proof: everything that the verifier's program takes from a statement, as words that are hashed.

- heads.py: the heads of all proofs of a layer, and their list.
- head.py: a head; words.py: its words by their names, as the program reads them.
- memory_areas.py: the areas of the memory of a run, which the words of a head give the addresses of, such as trees,
  openings and queries; messages.py: the messages of a transcript.
- entries.py: addresses of the program's instructions that words name.
- gates.py, terms.py: the builder of gates; placed.py: gates as words, and their values.
- constraints.py, domains.py, batching.py, inputs.py: the gates of a verifier.
"""
