"""What prover and verifier must agree on, in plain Python and NumPy: it imports no scheduler, compiler or GPU.

In go descriptions of tables (``graphprover.air``) and untrusted bytes; out come values, or a `VerificationError` with
its reason. The specification is docs/protocol.md; what depends on Plonky3's release is in ``transcript`` and ``proof``.

Read in this order: ``parameters``, what is chosen; ``layout``, the shape of a proof, which follows from the statement
and the parameters and from which everybody takes every length; ``transcript`` with ``challenger``, the order in which
all is absorbed and drawn; ``proof``, what a prover sends, and its bytes. Then what the verifier computes: ``lookup``
and ``constraints`` at one point, ``merkle`` with ``hashing``, and ``preprocessed``, the commitment that it never takes
from a proof. ``security`` says what a proof is worth, one function a formula; ``folding`` is FRI's schedule.
``backend`` says when NumPy's work is left to the prover's kernels.
"""
