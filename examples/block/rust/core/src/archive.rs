//! Where the new parts of the state go.
use alloy_primitives::B256;

/// Takes what a block adds to the state, for instance to check the next block. `()` drops all.
pub trait Archive {
    /// Take a node of a trie.
    fn node(&mut self, hash: B256, node: &[u8]);

    /// Take the code of a new contract.
    fn code(&mut self, code: &[u8]);
}

impl Archive for () {
    #[inline(always)]
    fn node(&mut self, _: B256, _: &[u8]) {}

    #[inline(always)]
    fn code(&mut self, _: &[u8]) {}
}
