"""A guest that checks a block of Ethereum from a witness of the state before it, and what its host needs.

``block.elf`` executes the block by revm and checks all of the execution layer's rules since the merge. ``rust`` has
its sources, ``inputs`` two real blocks with their witnesses. ``python -m graphprover.examples.block`` converts the
witnesses of other projects to the guest's input, and prints the expected output. docs/block.md is the manual.

- `witness`: the formats of other projects' witnesses
- `block_input`: the form of the guest's input
- `result`: the guest's output
- `shipped`: the real blocks
- `rlp`: Ethereum's encoding
"""
