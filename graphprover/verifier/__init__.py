"""The verifier: everything that decides whether a proof is accepted, above the arithmetic in `graphprover.protocol`.

It imports NumPy and hashes, and neither a scheduler nor a compiler nor a GPU. The checks, in this order:

1. headers.py: the security that the parameters allow; the tables, their public values and heights against the
   statement; the layout, from which every length follows; the bound on the tuples of all buses; the provable security.
2. shards.py: the payload, which must be of exactly this layout (`protocol/proof.py`). Then all shards together: one
   nonce, and lookup terminals that sum to zero. Then each shard by itself (`protocol/verification.py`): the transcript
   and its proofs of work, the constraints at one point, and the openings with the low-degree test. A proof of one shard
   takes the same steps.
3. compressed.py: the numbers of proofs, the level of each, and the payload of the last layer. Only then the headers of
   the other proofs, as above, from which the statement of the last layer follows.

Other modules:

- any_proof.py: `verify`, by the kind of a proof; verdict.py: its result.
- layer_key.py: the statement of a layer; layer_commitments.py: its key, which scripts/recursion_key.py writes.
- mock.py: the claim of a mock proof, which proves nothing.
- pool.py: processes that verify the proofs of this one, and the shards of workers, beside it.
- plonky3.py: the same proof and statement as files for Plonky3's own verifier.

The statement of a guest's proof follows from its header and the program (`graphprover.vm.statement`).
"""

from graphprover.verifier.any_proof import verify, verify_header
from graphprover.verifier.shards import check_in_common, expect, verify_shard, verify_shards
from graphprover.verifier.verdict import Verdict

__all__ = ["Verdict", "check_in_common", "expect", "verify", "verify_header", "verify_shard", "verify_shards"]
