//! Ethereum's blockchain tests: a state, and blocks after it that a client must take or refuse.
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, panic};

use alloy_primitives::{hex, keccak256, map::B256Map, B256, U256};
use alloy_rlp::{Encodable, Header};
use block_core::trie::{Nodes, Trie, EMPTY_ROOT};
use block_core::{check, Archive, Input, Refusal};
use serde_json::Value;

const NEVER: u64 = u64::MAX;
/// When a network that is named for two forks changes to the second.
const TRANSITION: u64 = 15_000;
const FORKS: [&str; 10] = ["Paris", "Shanghai", "Cancun", "Prague", "Osaka", "BPO1", "BPO2", "BPO3", "BPO4", "BPO5"];
/// The first forks have times, the ones from Cancun on have blob parameters.
const DATED: usize = 5;
/// Target, maximum and update fraction, unless the test states its own.
const BLOBS: [(&str, [u64; 3]); 3] =
    [("Cancun", [3, 6, 3_338_477]), ("Prague", [6, 9, 5_007_716]), ("Osaka", [6, 9, 5_007_716])];
const DEPOSIT_CONTRACT: &str = "00000000219ab540356cbb839cbe05303d7705fa";

/// All that is known of the states of a test.
#[derive(Default)]
struct World {
    nodes: B256Map<Vec<u8>>,
    codes: B256Map<Vec<u8>>,
    /// Headers in RLP with their parents.
    headers: B256Map<(B256, Vec<u8>)>,
}

impl Archive for World {
    fn node(&mut self, hash: B256, node: &[u8]) {
        self.nodes.insert(hash, node.to_vec());
    }

    fn code(&mut self, code: &[u8]) {
        self.codes.insert(keccak256(code), code.to_vec());
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().expect("a string of digits")).expect("hexadecimal digits")
}

fn number(value: &Value) -> U256 {
    let text = value.as_str().expect("a number").trim_start_matches("0x");
    U256::from_str_radix(if text.is_empty() { "0" } else { text }, 16).expect("a number")
}

/// Return the blob parameters of a fork: those that the test states, or the usual ones.
fn blobs(fork: &str, stated: &Value) -> Option<[u64; 3]> {
    if let Some(stated) = stated.get(fork) {
        return Some(["target", "max", "baseFeeUpdateFraction"].map(|name| number(&stated[name]).to()));
    }
    BLOBS.iter().find(|(name, _)| *name == fork).map(|(_, blobs)| *blobs)
}

/// Return the rules of a test, or nothing if its network is older than Paris or unknown.
fn rules(test: &Value) -> Option<Vec<u8>> {
    let network = test["network"].as_str()?.replace("Merge", "Paris");
    let (first, second) = match network.strip_suffix("AtTime15k") {
        Some(both) => both.split_once("To")?,
        None => (&network[..], &network[..]),
    };
    let position = |name: &str| FORKS.iter().position(|fork| *fork == name);
    let (first, second) = (position(first)?, position(second)?);
    let time = |fork: usize| match fork {
        _ if fork <= first => 0,
        _ if fork <= second => TRANSITION,
        _ => NEVER,
    };
    let mut words: Vec<u64> = (1..DATED).map(time).collect();
    for (fork, name) in FORKS.iter().enumerate().take(second + 1) {
        if let Some(blobs) = blobs(name, &test["config"]["blobSchedule"]) {
            words.push(time(fork));
            words.extend(blobs);
        }
    }
    let mut rules: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    rules.extend(hex::decode(DEPOSIT_CONTRACT).expect("digits"));
    rules.extend([0; 4]);
    Some(rules)
}

fn list(fields: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    Header { list: true, payload_length: fields.len() }.encode(&mut encoded);
    encoded.extend(fields);
    encoded
}

/// Return the root of a trie with some contents, whose nodes go to the world.
fn root(contents: Vec<(B256, Vec<u8>)>, world: &mut World) -> B256 {
    let nodes = Nodes::default();
    let mut trie = Trie::new(EMPTY_ROOT, &nodes).expect("an empty trie");
    for (key, value) in contents {
        trie.put(&key, value, &nodes).expect("no node is missing");
    }
    trie.root(world)
}

/// Put a state into the world, and return its root.
fn state(accounts: &Value, world: &mut World) -> B256 {
    let mut contents = Vec::new();
    for (address, account) in accounts.as_object().expect("accounts") {
        let slots = account["storage"].as_object().expect("slots");
        let slots = slots.iter().map(|(index, value)| (number(&Value::String(index.clone())), number(value)));
        let storage = slots
            .filter(|(_, value)| !value.is_zero())
            .map(|(index, value)| (keccak256(index.to_be_bytes::<32>()), alloy_rlp::encode(value)))
            .collect();
        let storage = root(storage, world);
        let code = bytes(&account["code"]);
        world.code(&code);
        let mut fields = Vec::new();
        number(&account["nonce"]).encode(&mut fields);
        number(&account["balance"]).encode(&mut fields);
        storage.encode(&mut fields);
        keccak256(&code).encode(&mut fields);
        contents.push((keccak256(hex::decode(address).expect("an address")), list(&fields)));
    }
    root(contents, world)
}

/// Return the header of a block in RLP, its parent's hash and its hash.
fn header(block: &[u8]) -> Option<(Vec<u8>, B256, B256)> {
    let mut rest = block;
    Header::decode(&mut rest).ok()?;
    let mut behind = rest;
    let fields = Header::decode(&mut behind).ok()?;
    let size = rest.len() - behind.len() + fields.payload_length;
    let header = rest.get(..size)?.to_vec();
    let parent = behind.get(1..33)?;
    Some((header.clone(), B256::from_slice(parent), keccak256(&header)))
}

impl World {
    /// Return the input for a block: all nodes and codes of the world, and the headers before the block.
    fn input<'a>(&'a self, rules: &'a [u8], block: &'a [u8]) -> Input<'a> {
        let mut headers = Vec::new();
        let mut hash = header(block).map_or(B256::ZERO, |(_, parent, _)| parent);
        while let Some((parent, encoded)) = self.headers.get(&hash) {
            headers.push(&encoded[..]);
            hash = *parent;
            if headers.len() == 256 {
                break;
            }
        }
        headers.reverse();
        let nodes = self.nodes.values().map(|node| &node[..]).collect();
        let codes = self.codes.values().map(|code| &code[..]).collect();
        Input { chain: 1, rules, block, nodes, codes, headers }
    }
}

/// How a block of a test went.
enum Outcome {
    AsExpected,
    /// The block is invalid, and the check ends without a verdict.
    NoVerdict(String),
    Different(String),
}

/// A test of one network.
struct Test<'a> {
    contents: &'a Value,
    rules: Vec<u8>,
    world: World,
}

impl<'a> Test<'a> {
    fn new(contents: &'a Value) -> Option<Self> {
        let rules = rules(contents)?;
        let mut world = World::default();
        let root = state(&contents["pre"], &mut world);
        assert_eq!(root.as_slice(), bytes(&contents["genesisBlockHeader"]["stateRoot"]), "the root of the first state");
        let genesis = bytes(&contents["genesisRLP"]);
        let (encoded, parent, hash) = header(&genesis).expect("the first block has a header");
        world.headers.insert(hash, (parent, encoded));
        Some(Self { contents, rules, world })
    }

    /// Check all blocks, each with the inputs' bytes first.
    fn run(mut self, mut before: impl FnMut(usize, &[u8])) -> Vec<Outcome> {
        let blocks = self.contents["blocks"].as_array().expect("blocks");
        let mut outcomes = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            let encoded = bytes(&block["rlp"]);
            let input = self.world.input(&self.rules, &encoded).to_bytes();
            before(index, &input);
            let valid = block.get("expectException").is_none() && block.get("blockHeader").is_some();
            let mut added = World::default();
            let done = panic::catch_unwind(panic::AssertUnwindSafe(|| check(&input, u64::MAX, &mut added)));
            outcomes.push(match (valid, done) {
                (true, Ok(Ok(_))) | (false, Ok(Err(Refusal::Invalid(_)))) => Outcome::AsExpected,
                (false, Ok(Err(Refusal::Unusable(reason)))) => Outcome::NoVerdict(reason),
                (true, Ok(Err(refusal))) => Outcome::Different(refusal.to_string()),
                (false, Ok(Ok(_))) => Outcome::Different(format!("valid, not {}", block["expectException"])),
                (_, Err(_)) => Outcome::Different("panic".into()),
            });
            if valid {
                self.world.nodes.extend(added.nodes);
                self.world.codes.extend(added.codes);
                let (encoded, parent, hash) = header(&encoded).expect("a valid block has a header");
                self.world.headers.insert(hash, (parent, encoded));
            }
        }
        outcomes
    }
}

fn load(file: &str) -> Value {
    let text = fs::read(file).expect("the file can be read");
    serde_json::from_slice(&text).expect("the file is JSON")
}

/// Run all tests of some files, and return whether all went as expected.
pub fn run(files: &[&str]) -> bool {
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let mut good = true;
    for file in files {
        let tests = load(file);
        for (name, contents) in tests.as_object().expect("tests by their names") {
            let network = contents["network"].as_str().unwrap_or("?").to_string();
            let Some(test) = Test::new(contents) else { continue };
            for (index, outcome) in test.run(|_, _| ()).into_iter().enumerate() {
                let kind = match outcome {
                    Outcome::AsExpected => "as expected",
                    Outcome::NoVerdict(reason) => {
                        println!("no verdict: {name}, block {index}: {reason}");
                        "refused without a verdict"
                    }
                    Outcome::Different(what) => {
                        println!("DIFFERENT: {file}: {name}, block {index}: {what}");
                        good = false;
                        "different"
                    }
                };
                *counts.entry((network.clone(), kind)).or_default() += 1;
            }
        }
    }
    for ((network, kind), count) in counts {
        println!("{network}: {count} blocks {kind}");
    }
    good
}

/// Write the inputs of the blocks of a test to a folder.
pub fn export(file: &str, name: &str, folder: &Path) -> bool {
    let tests = load(file);
    let Some(test) = Test::new(&tests[name]) else { return false };
    test.run(|index, input| fs::write(folder.join(format!("{index}.bin")), input).expect("the folder takes files"));
    true
}
