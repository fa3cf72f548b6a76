//! Merkle Patricia tries of which only some nodes are known.
//!
//! Reads walk over the bytes of the nodes and build nothing. Writes open the nodes on their paths; all else stays the
//! reference that it was. A node is untrusted: one that does not have the form of its place is refused.
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use alloy_primitives::map::B256Map;
use alloy_primitives::{keccak256, B256};
pub use alloy_trie::EMPTY_ROOT_HASH as EMPTY_ROOT;

use crate::Archive;

/// Encoded nodes by their hashes.
pub type Nodes<'a> = B256Map<&'a [u8]>;

/// Number of digits of a key.
const DIGITS: usize = 64;
/// Largest value of a leaf: an account with its four fields is smaller.
const MAXIMUM_VALUE: usize = 256;
/// First byte of a string of 32 bytes in RLP, and of a branch's or a value's absence.
const HASH: u8 = 0xa0;
const NOTHING: u8 = 0x80;

/// Why a trie cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No node has this hash.
    Missing(B256),
    /// A node has a form that no trie with keys of 32 bytes has.
    Malformed,
}

/// An item of RLP: whether it is a list, its payload, its whole encoding, and the bytes behind it.
struct Item<'a> {
    list: bool,
    payload: &'a [u8],
    whole: &'a [u8],
    rest: &'a [u8],
}

/// Take the first item off.
#[inline]
fn item(bytes: &[u8]) -> Result<Item<'_>, Fault> {
    let first = *bytes.first().ok_or(Fault::Malformed)?;
    let (list, start, size) = match first {
        0..=0x7f => (false, 0, 1),
        0x80..=0xb7 => (false, 1, usize::from(first - 0x80)),
        0xc0..=0xf7 => (true, 1, usize::from(first - 0xc0)),
        0xb8..=0xbf => long(bytes, false, usize::from(first - 0xb7))?,
        0xf8..=0xff => long(bytes, true, usize::from(first - 0xf7))?,
    };
    let end = start + size;
    let payload = bytes.get(start..end).ok_or(Fault::Malformed)?;
    Ok(Item { list, payload, whole: &bytes[..end], rest: &bytes[end..] })
}

/// Read a length of several bytes. Nodes are short: two digits are enough.
fn long(bytes: &[u8], list: bool, digits: usize) -> Result<(bool, usize, usize), Fault> {
    if digits > 2 {
        return Err(Fault::Malformed);
    }
    let size = bytes.get(1..=digits).ok_or(Fault::Malformed)?;
    Ok((list, 1 + digits, size.iter().fold(0, |size, digit| size << 8 | usize::from(*digit))))
}

/// Take the first item of a node off, which has as many items as a branch or as a leaf.
#[inline]
fn list(node: &[u8]) -> Result<&[u8], Fault> {
    let item = item(node)?;
    if item.list && item.rest.is_empty() {
        Ok(item.payload)
    } else {
        Err(Fault::Malformed)
    }
}

/// Take a branch's first child off its items: its encoding and the items behind it.
#[inline]
fn child(items: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let size = match items.first() {
        Some(&NOTHING) => 1,
        Some(&HASH) => 33,
        _ => {
            let item = item(items)?;
            if !item.list || item.whole.len() >= 32 {
                return Err(Fault::Malformed);
            }
            item.whole.len()
        }
    };
    items.split_at_checked(size).ok_or(Fault::Malformed)
}

/// The path of a leaf or an extension: its digits in pairs, whether the first byte has one of them, and whether it is
/// a leaf's.
struct Path<'a> {
    bytes: &'a [u8],
    odd: bool,
    leaf: bool,
}

impl<'a> Path<'a> {
    #[inline]
    fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        let first = *bytes.first().ok_or(Fault::Malformed)?;
        let path = Self { bytes, odd: first & 0x10 != 0, leaf: first & 0x20 != 0 };
        let even = if path.odd { 0 } else { first & 15 };
        // An extension without digits would let a path go on forever.
        if first >= 0x40 || even != 0 || path.len() > DIGITS || !path.leaf && path.len() == 0 {
            return Err(Fault::Malformed);
        }
        Ok(path)
    }

    fn len(&self) -> usize {
        2 * (self.bytes.len() - 1) + usize::from(self.odd)
    }

    #[inline]
    fn digit(&self, index: usize) -> u8 {
        digit(self.bytes, index + 2 - usize::from(self.odd))
    }

    fn digits(&self) -> Vec<u8> {
        (0..self.len()).map(|index| self.digit(index)).collect()
    }
}

/// Return a digit of bytes.
#[inline]
fn digit(bytes: &[u8], index: usize) -> u8 {
    let pair = bytes[index / 2];
    if index % 2 == 0 {
        pair >> 4
    } else {
        pair & 15
    }
}

/// Return the digits of a key.
fn digits(key: &B256) -> [u8; DIGITS] {
    core::array::from_fn(|index| digit(key.as_slice(), index))
}

/// Return the node with a hash.
#[inline]
fn lookup<'a>(hash: &[u8], nodes: &Nodes<'a>) -> Result<&'a [u8], Fault> {
    let hash = B256::try_from(hash).map_err(|_| Fault::Malformed)?;
    nodes.get(&hash).copied().ok_or(Fault::Missing(hash))
}

/// Return the value of a key, or nothing if the trie does not have the key.
///
/// # Arguments
///
/// * `root` - the hash of the trie.
/// * `key` - the key.
/// * `nodes` - the known nodes.
///
/// # Errors
///
/// [`Fault`] if a node on the way is not known or malformed.
pub fn read<'a>(root: B256, key: &B256, nodes: &Nodes<'a>) -> Result<Option<&'a [u8]>, Fault> {
    if root == EMPTY_ROOT {
        return Ok(None);
    }
    let mut node = lookup(root.as_slice(), nodes)?;
    let mut depth = 0;
    loop {
        let items = list(node)?;
        let first = item(items)?;
        let two = !first.rest.is_empty() && item(first.rest)?.rest.is_empty();
        let next = if two {
            let path = Path::parse(if first.list { &[] } else { first.payload })?;
            let end = depth + path.len();
            if end > DIGITS || path.leaf != (end == DIGITS) {
                return Err(Fault::Malformed);
            }
            if (0..path.len()).any(|index| path.digit(index) != digit(key.as_slice(), depth + index)) {
                return Ok(None);
            }
            depth = end;
            if path.leaf {
                return Ok(Some(item(first.rest)?.payload));
            }
            child(first.rest)?.0
        } else {
            if depth == DIGITS {
                return Err(Fault::Malformed);
            }
            let mut rest = items;
            for _ in 0..digit(key.as_slice(), depth) {
                rest = child(rest)?.1;
            }
            depth += 1;
            child(rest)?.0
        };
        node = match next {
            [NOTHING] => return Ok(None),
            [HASH, hash @ ..] => lookup(hash, nodes)?,
            inline => inline,
        };
    }
}

/// A node of a trie that is written to.
#[derive(Default)]
enum Node<'a> {
    #[default]
    Empty,
    /// A node that no path has opened, as it stands in its parent: its hash in RLP, or itself if it is short.
    Closed(&'a [u8]),
    Leaf(Box<(Vec<u8>, Vec<u8>)>),
    Extension(Box<(Vec<u8>, Node<'a>)>),
    Branch(Box<[Node<'a>; 16]>),
}

/// A trie for writes.
pub struct Trie<'a> {
    root: Node<'a>,
}

/// Open a node whose path has some digits already.
fn decode(node: &[u8], depth: usize) -> Result<Node<'_>, Fault> {
    let items = list(node)?;
    let first = item(items)?;
    if !first.rest.is_empty() {
        let second = item(first.rest)?;
        if second.rest.is_empty() {
            let path = Path::parse(if first.list { &[] } else { first.payload })?;
            let end = depth + path.len();
            if path.leaf != (end == DIGITS) || end > DIGITS {
                return Err(Fault::Malformed);
            }
            if path.leaf {
                if second.payload.len() > MAXIMUM_VALUE || second.list {
                    return Err(Fault::Malformed);
                }
                return Ok(Node::Leaf(Box::new((path.digits(), second.payload.to_vec()))));
            }
            let (below, _) = child(first.rest)?;
            return match below {
                [NOTHING] => Err(Fault::Malformed),
                below => Ok(Node::Extension(Box::new((path.digits(), Node::Closed(below))))),
            };
        }
    }
    if depth == DIGITS {
        return Err(Fault::Malformed);
    }
    let mut children: Box<[Node; 16]> = Box::default();
    let mut rest = items;
    for to in children.iter_mut() {
        let (encoded, behind) = child(rest)?;
        if encoded != [NOTHING] {
            *to = Node::Closed(encoded);
        }
        rest = behind;
    }
    // Keys have one length, so that no key ends at a branch.
    if rest == [NOTHING] {
        Ok(Node::Branch(children))
    } else {
        Err(Fault::Malformed)
    }
}

impl<'a> Node<'a> {
    /// Open a node at a depth if it is closed.
    fn open(&mut self, depth: usize, nodes: &Nodes<'a>) -> Result<(), Fault> {
        if let Node::Closed(encoded) = *self {
            *self = match encoded {
                [HASH, hash @ ..] => decode(lookup(hash, nodes)?, depth)?,
                inline => decode(inline, depth)?,
            };
        }
        Ok(())
    }

    /// Set the value of the key with these further digits.
    fn put(&mut self, key: &[u8], value: Vec<u8>, nodes: &Nodes<'a>) -> Result<(), Fault> {
        self.open(DIGITS - key.len(), nodes)?;
        let path = match self {
            Node::Empty => {
                *self = Node::Leaf(Box::new((key.to_vec(), value)));
                return Ok(());
            }
            Node::Branch(children) => {
                let (first, rest) = key.split_first().ok_or(Fault::Malformed)?;
                return children[usize::from(*first)].put(rest, value, nodes);
            }
            Node::Leaf(leaf) if leaf.0 == key => {
                leaf.1 = value;
                return Ok(());
            }
            Node::Extension(extension) if key.starts_with(&extension.0) => {
                let below = &key[extension.0.len()..];
                return extension.1.put(below, value, nodes);
            }
            Node::Leaf(leaf) => &leaf.0,
            Node::Extension(extension) => &extension.0,
            Node::Closed(_) => return Err(Fault::Malformed),
        };
        let common = path.iter().zip(key).take_while(|(left, right)| left == right).count();
        // Either path goes on: those of leaves have equal lengths, and no extension's is a prefix of the key.
        let (Some(&old), Some(&new)) = (path.get(common), key.get(common)) else { return Err(Fault::Malformed) };
        let mut children: Box<[Node; 16]> = Box::default();
        children[usize::from(old)] = match core::mem::take(self) {
            Node::Extension(extension) if extension.0.len() == common + 1 => extension.1,
            Node::Extension(mut extension) => {
                extension.0.drain(..=common);
                Node::Extension(extension)
            }
            Node::Leaf(mut leaf) => {
                leaf.0.drain(..=common);
                Node::Leaf(leaf)
            }
            other => other,
        };
        children[usize::from(new)] = Node::Leaf(Box::new((key[common + 1..].to_vec(), value)));
        let branch = Node::Branch(children);
        *self = if common == 0 { branch } else { Node::Extension(Box::new((key[..common].to_vec(), branch))) };
        Ok(())
    }

    /// Return this node with more digits before its path, where a branch or an extension above it went away.
    fn lengthened(self, mut before: Vec<u8>, depth: usize, nodes: &Nodes<'a>) -> Result<Node<'a>, Fault> {
        let closed = if let Node::Closed(encoded) = self { Some(encoded) } else { None };
        let mut node = self;
        node.open(depth, nodes)?;
        Ok(match node {
            Node::Leaf(mut leaf) => {
                before.extend(&leaf.0);
                leaf.0 = before;
                Node::Leaf(leaf)
            }
            Node::Extension(mut extension) => {
                before.extend(&extension.0);
                extension.0 = before;
                Node::Extension(extension)
            }
            // A branch that was closed stays the reference that it was.
            branch => Node::Extension(Box::new((before, closed.map_or(branch, Node::Closed)))),
        })
    }

    /// Remove the key with these further digits, and return whether it was there.
    fn cut(&mut self, key: &[u8], nodes: &Nodes<'a>) -> Result<bool, Fault> {
        let depth = DIGITS - key.len();
        self.open(depth, nodes)?;
        match self {
            Node::Leaf(leaf) if leaf.0 == key => {
                *self = Node::Empty;
                Ok(true)
            }
            Node::Extension(extension) if key.starts_with(&extension.0) => {
                let below = depth + extension.0.len();
                let gone = extension.1.cut(&key[extension.0.len()..], nodes)?;
                if gone {
                    let (path, child) = core::mem::take(&mut **extension);
                    *self = child.lengthened(path, below, nodes)?;
                }
                Ok(gone)
            }
            Node::Branch(children) => {
                let (first, rest) = key.split_first().ok_or(Fault::Malformed)?;
                let at = usize::from(*first);
                let gone = children[at].cut(rest, nodes)?;
                if gone && matches!(children[at], Node::Empty) {
                    let mut left = (0..16u8).filter(|&digit| !matches!(children[usize::from(digit)], Node::Empty));
                    if let (Some(digit), None) = (left.next(), left.next()) {
                        let child = core::mem::take(&mut children[usize::from(digit)]);
                        *self = child.lengthened(vec![digit], depth + 1, nodes)?;
                    }
                }
                Ok(gone)
            }
            _ => Ok(false),
        }
    }

    /// Append this node as its parent has it.
    fn refer(&self, to: &mut Vec<u8>, archive: &mut impl Archive) {
        match self {
            Node::Empty => to.push(NOTHING),
            Node::Closed(encoded) => to.extend_from_slice(encoded),
            _ => {
                let mut room = Vec::with_capacity(ROOM);
                let node = self.encode(&mut room, archive);
                if node.len() < 32 {
                    to.extend_from_slice(node);
                } else {
                    let hash = keccak256(node);
                    archive.node(hash, node);
                    to.push(HASH);
                    to.extend_from_slice(hash.as_slice());
                }
            }
        }
    }

    /// Return the encoding of an open node, in a room that is empty.
    fn encode<'b>(&self, room: &'b mut Vec<u8>, archive: &mut impl Archive) -> &'b [u8] {
        room.extend_from_slice(&[0; 3]); // for the head
        match self {
            Node::Leaf(leaf) => {
                encode_path(&leaf.0, true, room);
                encode_string(&leaf.1, room);
            }
            Node::Extension(extension) => {
                encode_path(&extension.0, false, room);
                extension.1.refer(room, archive);
            }
            Node::Branch(children) => {
                for child in children.iter() {
                    child.refer(room, archive);
                }
                room.push(NOTHING);
            }
            Node::Empty | Node::Closed(_) => {}
        }
        let size = room.len() - 3;
        let start = match size {
            0..56 => {
                room[2] = 0xc0 + size as u8;
                2
            }
            56..256 => {
                room[1..3].copy_from_slice(&[0xf8, size as u8]);
                1
            }
            _ => {
                room[..3].copy_from_slice(&[0xf9, (size >> 8) as u8, size as u8]);
                0
            }
        };
        &room[start..]
    }
}

/// Room for the encoding of a branch.
const ROOM: usize = 3 + 16 * 33 + 1;

/// Append a string in RLP.
pub fn encode_string(string: &[u8], to: &mut Vec<u8>) {
    match string {
        [0..0x80] => {}
        _ if string.len() < 56 => to.push(0x80 + string.len() as u8),
        _ => {
            let size = string.len().to_be_bytes();
            let digits = &size[size.iter().take_while(|digit| **digit == 0).count()..];
            to.push(0xb7 + digits.len() as u8);
            to.extend_from_slice(digits);
        }
    }
    to.extend_from_slice(string);
}

/// Append a path as leaves and extensions have it.
fn encode_path(path: &[u8], leaf: bool, to: &mut Vec<u8>) {
    let mut bytes = [0; 1 + DIGITS / 2];
    let odd = path.len() % 2;
    bytes[0] = u8::from(leaf) << 5 | if odd == 1 { 0x10 | path[0] } else { 0 };
    for (byte, pair) in bytes[1..].iter_mut().zip(path[odd..].chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    encode_string(&bytes[..1 + path.len() / 2], to);
}

impl<'a> Trie<'a> {
    /// Return the trie with a root.
    pub fn new(root: B256, nodes: &Nodes<'a>) -> Result<Self, Fault> {
        let root = if root == EMPTY_ROOT { Node::Empty } else { decode(lookup(root.as_slice(), nodes)?, 0)? };
        Ok(Self { root })
    }

    /// Set the value of a key.
    pub fn put(&mut self, key: &B256, value: Vec<u8>, nodes: &Nodes<'a>) -> Result<(), Fault> {
        self.root.put(&digits(key), value, nodes)
    }

    /// Remove a key, and return whether it was there.
    pub fn cut(&mut self, key: &B256, nodes: &Nodes<'a>) -> Result<bool, Fault> {
        self.root.cut(&digits(key), nodes)
    }

    /// Return the root after all changes.
    ///
    /// # Arguments
    ///
    /// * `archive` - takes each opened node that its parent has by its hash, and the root.
    pub fn root(&self, archive: &mut impl Archive) -> B256 {
        if let Node::Empty = self.root {
            return EMPTY_ROOT;
        }
        let mut room = Vec::with_capacity(ROOM);
        let node = self.root.encode(&mut room, archive);
        let hash = keccak256(node);
        archive.node(hash, node);
        hash
    }
}

#[cfg(test)]
mod tests;
