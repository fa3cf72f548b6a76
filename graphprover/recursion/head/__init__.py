"""The head of a proof: everything that the verifier's program takes from a statement, as words that are hashed.

- fields.py: the words of a head, of which the program reads each.
"""
