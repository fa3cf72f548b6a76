//! Tries against alloy-trie's, and nodes that are no nodes.
use alloc::collections::BTreeMap;

use alloy_trie::{HashBuilder, Nibbles};

use super::*;

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Return a key, one of few so that paths meet: hashes, or keys that differ in few digits.
    fn key(&mut self, hashed: bool) -> B256 {
        if hashed {
            return keccak256((self.next() % 40).to_le_bytes());
        }
        let mut key = B256::ZERO;
        for _ in 0..3 {
            key[(self.next() % 32) as usize] = [0, 1, 0x10, 0x11][(self.next() % 4) as usize];
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        vec![(self.next() % 255 + 1) as u8; (self.next() % 40 + 1) as usize]
    }
}

fn expected(contents: &BTreeMap<B256, Vec<u8>>) -> B256 {
    let mut builder = HashBuilder::default();
    for (key, value) in contents {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    builder.root()
}

/// Nodes that are kept.
#[derive(Default)]
struct Kept(Vec<(B256, Vec<u8>)>);

impl Archive for Kept {
    fn node(&mut self, hash: B256, node: &[u8]) {
        self.0.push((hash, node.to_vec()));
    }

    fn code(&mut self, _: &[u8]) {}
}

#[test]
fn roots_are_those_of_the_contents() {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    for round in 0..120 {
        let nodes = Nodes::default();
        let mut trie = Trie::new(EMPTY_ROOT, &nodes).unwrap();
        let mut contents = BTreeMap::new();
        for _ in 0..50 {
            let key = numbers.key(round % 2 == 1);
            if numbers.next() % 5 < 3 {
                let value = numbers.value();
                trie.put(&key, value.clone(), &nodes).unwrap();
                contents.insert(key, value);
            } else {
                assert_eq!(trie.cut(&key, &nodes), Ok(contents.remove(&key).is_some()));
            }
            assert_eq!(trie.root(&mut ()), expected(&contents));
        }
    }
}

/// Each block starts from the nodes that the one before has left, and what it does not open stays closed.
#[test]
fn tries_go_on_from_their_nodes() {
    let mut numbers = Numbers(7);
    for round in 0..60 {
        let mut nodes = Nodes::default();
        let mut root = EMPTY_ROOT;
        let mut contents: BTreeMap<B256, Vec<u8>> = BTreeMap::new();
        for _ in 0..12 {
            let mut trie = Trie::new(root, &nodes).unwrap();
            for _ in 0..numbers.next() % 12 {
                let key = numbers.key(round % 2 == 1);
                if numbers.next().is_multiple_of(2) {
                    let value = numbers.value();
                    trie.put(&key, value.clone(), &nodes).unwrap();
                    contents.insert(key, value);
                } else {
                    assert_eq!(trie.cut(&key, &nodes), Ok(contents.remove(&key).is_some()));
                }
            }
            let mut new = Kept::default();
            root = trie.root(&mut new);
            nodes.extend(new.0.into_iter().map(|(hash, node)| (hash, &*node.leak())));
            assert_eq!(root, expected(&contents));
            for _ in 0..20 {
                let key = numbers.key(round % 2 == 1);
                assert_eq!(read(root, &key, &nodes), Ok(contents.get(&key).map(|value| &value[..])));
            }
        }
    }
}

/// Every change of one byte of a node makes it missing or another node, and no function panics.
#[test]
fn changed_nodes_do_not_panic() {
    let mut numbers = Numbers(99);
    let none = Nodes::default();
    let mut trie = Trie::new(EMPTY_ROOT, &none).unwrap();
    let keys: Vec<B256> = (0..8).map(|index| numbers.key(index % 2 == 1)).collect();
    for key in &keys {
        trie.put(key, numbers.value(), &none).unwrap();
    }
    let mut kept = Kept::default();
    let root = trie.root(&mut kept);
    let found = kept.0;
    let nodes: Nodes = found.iter().map(|(hash, node)| (*hash, &node[..])).collect();
    let mut faults = 0;
    for (hash, node) in &found {
        for at in 0..node.len() {
            for byte in [0, 0x20, 0x80, 0xa0, 0xc0, 0xc8, 0xff, node[at] ^ 1, node[at] ^ 0x10] {
                let mut changed = node.clone();
                changed[at] = byte;
                faults += attempt(root, &keys, &nodes, *hash, &changed);
            }
        }
        for size in 0..node.len() {
            faults += attempt(root, &keys, &nodes, *hash, &node[..size]);
        }
    }
    assert!(faults > 1000, "{faults}");
}

/// Read, write and cut all keys with one node changed, and return how many of these failed.
fn attempt(root: B256, keys: &[B256], nodes: &Nodes, hash: B256, changed: &[u8]) -> usize {
    let mut other: Nodes = nodes.clone();
    other.insert(hash, changed);
    let nodes = &other;
    let mut faults = keys.iter().filter(|key| read(root, key, nodes).is_err()).count();
    let Ok(mut trie) = Trie::new(root, nodes) else { return faults + 1 };
    for (index, key) in keys.iter().enumerate() {
        let failed =
            if index % 2 == 0 { trie.put(key, vec![9; 9], nodes).is_err() } else { trie.cut(key, nodes).is_err() };
        faults += usize::from(failed);
    }
    trie.root(&mut ());
    faults
}

#[test]
fn missing_nodes_are_named() {
    let hash = B256::repeat_byte(7);
    assert_eq!(read(hash, &B256::ZERO, &Nodes::default()), Err(Fault::Missing(hash)));
    assert_eq!(Trie::new(hash, &Nodes::default()).err(), Some(Fault::Missing(hash)));
}

/// A node that refers to itself by an extension without digits, or nests without end, is refused.
#[test]
fn paths_end() {
    for node in [
        &[0xc2, 0x00, 0xc0][..],   // an extension without digits
        &[0xc2, 0x80, 0xc0],       // no path
        &[0xc3, 0x20, 0x80, 0x80], // three items
        &[0xc2, 0x20, 0x01],       // a leaf that ends too early
        &[0xc1, 0xc0],
        &[0xc0],
        &[0xfb, 1, 0, 0, 0],
        &[],
    ] {
        let hash = keccak256(node);
        let nodes: Nodes = [(hash, node)].into_iter().collect();
        assert_eq!(read(hash, &B256::ZERO, &nodes), Err(Fault::Malformed), "{node:x?}");
        assert_eq!(Trie::new(hash, &nodes).err(), Some(Fault::Malformed), "{node:x?}");
    }
}
