//! The form of the input.
use alloc::vec::Vec;

use crate::Refusal;

/// A block and its witness, in place.
///
/// The form is a sequence of little-endian words of 8 bytes: the chain's number; then two strings, the chain's rules
/// (empty: those that the program knows) and the block; then three lists of strings, the nodes of the tries, the codes
/// and the headers. A string is its length, its bytes, and zeros up to the next word. A list is its length and its
/// strings. Nodes and codes have any order; the parent is the last header, its parent comes before it, and so on.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The chain's number.
    pub chain: u64,
    /// The chain's rules, or nothing.
    pub rules: &'a [u8],
    /// The block in RLP: header, transactions, ommers, withdrawals.
    pub block: &'a [u8],
    /// The nodes of the tries.
    pub nodes: Vec<&'a [u8]>,
    /// The codes of the contracts.
    pub codes: Vec<&'a [u8]>,
    /// The headers before the block, in RLP.
    pub headers: Vec<&'a [u8]>,
}

/// The rest of an input.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let size = usize::try_from(self.word()?).ok()?;
        let padded = size.checked_next_multiple_of(8)?;
        let string = self.0.get(..size)?;
        self.0 = self.0.get(padded..)?;
        Some(string)
    }

    fn list(&mut self) -> Option<Vec<&'a [u8]>> {
        let count = usize::try_from(self.word()?).ok()?;
        if count > self.0.len() / 8 {
            return None; // each string has a length
        }
        let mut strings = Vec::with_capacity(count);
        for _ in 0..count {
            strings.push(self.string()?);
        }
        Some(strings)
    }
}

impl<'a> Input<'a> {
    /// Take an input apart.
    ///
    /// # Errors
    ///
    /// [`Refusal::Unusable`] if the bytes have another form, or go on after it.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        Self::read(bytes).ok_or_else(|| Refusal::unusable("the input has another form"))
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let input = Self {
            chain: reader.word()?,
            rules: reader.string()?,
            block: reader.string()?,
            nodes: reader.list()?,
            codes: reader.list()?,
            headers: reader.list()?,
        };
        reader.0.is_empty().then_some(input)
    }

    /// Return the bytes that [`Input::parse`] takes apart.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        word(&mut bytes, self.chain);
        string(&mut bytes, self.rules);
        string(&mut bytes, self.block);
        for list in [&self.nodes, &self.codes, &self.headers] {
            word(&mut bytes, list.len() as u64);
            for item in list {
                string(&mut bytes, item);
            }
        }
        bytes
    }
}

fn word(to: &mut Vec<u8>, word: u64) {
    to.extend_from_slice(&word.to_le_bytes());
}

fn string(to: &mut Vec<u8>, string: &[u8]) {
    word(to, string.len() as u64);
    to.extend_from_slice(string);
    to.resize(to.len().next_multiple_of(8), 0);
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn whole() -> Vec<u8> {
        Input {
            chain: 1,
            rules: &[],
            block: b"a block",
            nodes: vec![b"nodes", b"", b"12345678"],
            codes: vec![],
            headers: vec![b"h"],
        }
        .to_bytes()
    }

    #[test]
    fn input_comes_back() {
        let bytes = whole();
        let input = Input::parse(&bytes).unwrap();
        assert_eq!((input.chain, input.block, input.nodes.len()), (1, &b"a block"[..], 3));
        assert_eq!((input.nodes[2], input.headers[0]), (&b"12345678"[..], &b"h"[..]));
        assert_eq!(input.to_bytes(), bytes);
    }

    #[test]
    fn other_lengths_are_refused() {
        let bytes = whole();
        for size in 0..bytes.len() {
            assert!(Input::parse(&bytes[..size]).is_err());
        }
        assert!(Input::parse(&[&bytes[..], &[0; 8]].concat()).is_err());
    }

    #[test]
    fn absurd_lengths_are_refused() {
        let bytes = whole();
        for at in (8..bytes.len()).step_by(8) {
            for absurd in [u64::MAX, u64::MAX - 7, 1 << 63, 1 << 40] {
                let mut changed = bytes.clone();
                changed[at..at + 8].copy_from_slice(&absurd.to_le_bytes());
                let _ = Input::parse(&changed); // some of these words are contents
            }
        }
        assert!(Input::parse(&[0u64, 0, 0, u64::MAX].map(u64::to_le_bytes).concat()).is_err());
    }
}
