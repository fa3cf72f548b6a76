"""The proof protocol shared by prover and verifier, in Python and NumPy without scheduler, compiler or GPU.

Inputs are descriptions of tables (`graphprover.air`) and untrusted bytes; outputs are values, or a `VerificationError`
with its reason. The specification is docs/protocol.md. Only ``transcript`` and ``proof`` depend on Plonky3's release.

Reading order:

1. ``parameters``: the free parameters of a proof; ``folding``: the schedule of FRI's folds;
2. ``layout``: the shape of a proof, derived from statement and parameters; every length is read from it;
3. ``transcript`` and ``challenger``: the order in which data is absorbed and challenges are drawn; ``joint``: the
   challenges that the shards of one proof share;
4. ``proof``: the contents of a proof and their encoding;
5. ``verification``: the verifier, with ``lookup``, ``circuit`` and ``constraints`` for the constraints at one point,
   ``merkle`` and ``hashing`` for openings, and ``preprocessed`` for the commitment that the verifier computes itself;
6. ``security``: the soundness of a proof in bits, one function for each formula;
7. ``arrays`` and ``backend``: arithmetic on many elements, by NumPy or by the prover's kernels.
"""
