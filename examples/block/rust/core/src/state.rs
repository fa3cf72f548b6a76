//! The accounts that a block reads and writes.
use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use alloy_primitives::map::{AddressMap, B256Map, Entry, HashMap};
use alloy_primitives::{keccak256, Address, B256, KECCAK256_EMPTY, U256};
use alloy_rlp::{Decodable, Encodable, Header};
use revm::database_interface::DBErrorMarker;
use revm::state::{Account as Changes, AccountInfo, Bytecode};
use revm::{Database, DatabaseCommit};

use crate::code;
use crate::trie::{self, Fault, Nodes, Trie, EMPTY_ROOT};
use crate::{Archive, Refusal};

/// Why the state does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Trie(Fault),
    Code(B256),
    BlockHash(u64),
    /// An account has storage, but neither code nor nonce: whether a contract can come there (EIP-7610) the EVM here
    /// cannot tell. The main chain has 28 such accounts.
    OnlyStorage(Address),
}

impl fmt::Display for Unknown {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trie(Fault::Missing(hash)) => write!(to, "the witness lacks the node {hash}"),
            Self::Trie(Fault::Malformed) => write!(to, "a node of the witness is malformed"),
            Self::Code(hash) => write!(to, "the witness lacks the code {hash}"),
            Self::OnlyStorage(address) => write!(to, "{address} has storage, but neither code nor nonce"),
            Self::BlockHash(number) => write!(to, "the witness lacks the header of block {number}"),
        }
    }
}

impl core::error::Error for Unknown {}

impl DBErrorMarker for Unknown {}

impl From<Fault> for Unknown {
    fn from(fault: Fault) -> Self {
        Self::Trie(fault)
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Refusal::unusable(format!("{}", Unknown::Trie(fault)))
    }
}

/// A storage slot before the block and now.
struct Slot {
    before: U256,
    now: U256,
}

/// An account before the block and now; nothing where there is none.
struct Account {
    /// The account's key in the trie.
    key: B256,
    before: Option<AccountInfo>,
    now: Option<AccountInfo>,
    /// The root of the storage before the block.
    storage: B256,
    /// Whether the block has emptied the storage, by destroying or creating the account.
    emptied: bool,
    slots: HashMap<U256, Slot>,
}

/// The state before a block as far as the witness has it, and what the block has changed.
pub(crate) struct State<'a> {
    nodes: Nodes<'a>,
    codes: B256Map<&'a [u8]>,
    prepared: B256Map<Bytecode>,
    hashes: Vec<(u64, B256)>,
    root: B256,
    accounts: AddressMap<Account>,
    /// The first question that had no answer.
    unknown: Option<Unknown>,
}

impl fmt::Debug for State<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("State").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Read an account and the root of its storage from the trie's value.
fn decode_account(mut value: &[u8]) -> Result<(AccountInfo, B256), Fault> {
    let mut read = || {
        let fields = Header::decode(&mut value)?;
        let nonce = u64::decode(&mut value)?;
        let balance = U256::decode(&mut value)?;
        let storage = B256::decode(&mut value)?;
        let code_hash = B256::decode(&mut value)?;
        let whole = fields.list && value.is_empty();
        let account = AccountInfo { nonce, balance, code_hash, code: None, account_id: None };
        Ok::<_, alloy_rlp::Error>((account, storage, whole))
    };
    match read() {
        Ok((account, storage, true)) => Ok((account, storage)),
        _ => Err(Fault::Malformed),
    }
}

/// Return the trie's value of an account.
fn encode_account(account: &AccountInfo, storage: &B256) -> Vec<u8> {
    let mut fields = Vec::with_capacity(112);
    fields.extend_from_slice(&[0; 2]); // for the head: there are 68 to 110 bytes
    account.nonce.encode(&mut fields);
    account.balance.encode(&mut fields);
    trie::encode_string(storage.as_slice(), &mut fields);
    trie::encode_string(account.code_hash.as_slice(), &mut fields);
    fields[0] = 0xf8;
    fields[1] = (fields.len() - 2) as u8;
    fields
}

/// Read a number from the trie's value.
fn decode_number(mut value: &[u8]) -> Result<U256, Fault> {
    match U256::decode(&mut value) {
        Ok(number) if value.is_empty() => Ok(number),
        _ => Err(Fault::Malformed),
    }
}

fn same(left: &Option<AccountInfo>, right: &Option<AccountInfo>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => {
            left.nonce == right.nonce && left.balance == right.balance && left.code_hash == right.code_hash
        }
        (None, None) => true,
        _ => false,
    }
}

impl Account {
    fn read(address: Address, root: B256, nodes: &Nodes<'_>) -> Result<Self, Fault> {
        let key = keccak256(address);
        let (before, storage) = match trie::read(root, &key, nodes)? {
            Some(value) => {
                let (account, storage) = decode_account(value)?;
                (Some(account), storage)
            }
            None => (None, EMPTY_ROOT),
        };
        Ok(Self { key, now: before.clone(), before, storage, emptied: false, slots: HashMap::default() })
    }

    fn slot(&mut self, index: U256, nodes: &Nodes<'_>) -> Result<&mut Slot, Fault> {
        match self.slots.entry(index) {
            Entry::Occupied(slot) => Ok(slot.into_mut()),
            Entry::Vacant(place) => {
                let value = if self.emptied {
                    U256::ZERO
                } else {
                    match trie::read(self.storage, &keccak256(index.to_be_bytes::<32>()), nodes)? {
                        Some(value) => decode_number(value)?,
                        None => U256::ZERO,
                    }
                };
                Ok(place.insert(Slot { before: value, now: value }))
            }
        }
    }

    /// Take over what a transaction has changed.
    fn change(&mut self, changes: Changes, nodes: &Nodes<'_>) -> Result<(), Fault> {
        if changes.is_selfdestructed() || changes.is_created() {
            self.emptied = true;
            self.slots.clear();
        }
        if changes.is_selfdestructed() || changes.is_empty() {
            self.now = None;
            self.emptied = true;
            self.slots.clear();
            return Ok(());
        }
        for (index, slot) in &changes.storage {
            if slot.is_changed() {
                self.slot(*index, nodes)?.now = slot.present_value;
            }
        }
        self.now = Some(AccountInfo { code: None, ..changes.info });
        Ok(())
    }

    /// Return the root of the storage now.
    fn storage_root(&self, nodes: &Nodes<'_>, archive: &mut impl Archive) -> Result<B256, Fault> {
        let before = if self.emptied { EMPTY_ROOT } else { self.storage };
        let mut changed = self.slots.iter().filter(|(_, slot)| slot.before != slot.now).peekable();
        if changed.peek().is_none() {
            return Ok(before);
        }
        let mut storage = Trie::new(before, nodes)?;
        let mut zeros = Vec::new();
        for (index, slot) in changed {
            let key = keccak256(index.to_be_bytes::<32>());
            if slot.now.is_zero() {
                zeros.push(key);
            } else {
                let mut value = Vec::with_capacity(33);
                slot.now.encode(&mut value);
                storage.put(&key, value, nodes)?;
            }
        }
        // Last, since a branch that keeps two children needs no further node of the witness.
        for key in zeros {
            storage.cut(&key, nodes)?;
        }
        Ok(storage.root(archive))
    }
}

impl<'a> State<'a> {
    /// Return the state with a root, from nodes, codes, and the hashes of blocks by their numbers.
    pub fn new(root: B256, nodes: &[&'a [u8]], codes: &[&'a [u8]], hashes: Vec<(u64, B256)>) -> Self {
        Self {
            nodes: nodes.iter().map(|node| (keccak256(node), *node)).collect(),
            codes: codes.iter().map(|code| (keccak256(code), *code)).collect(),
            prepared: B256Map::default(),
            hashes,
            root,
            accounts: AddressMap::default(),
            unknown: None,
        }
    }

    /// Return why the state did not answer, if it ever did not.
    pub fn unknown(&self) -> Option<Refusal> {
        self.unknown.map(|unknown| Refusal::unusable(format!("{unknown}")))
    }

    /// Return the root of the state now.
    pub fn root(&self, archive: &mut impl Archive) -> Result<B256, Refusal> {
        let mut state = Trie::new(self.root, &self.nodes)?;
        let mut gone = Vec::new();
        for account in self.accounts.values() {
            let Some(now) = &account.now else {
                if account.before.is_some() {
                    gone.push(account.key);
                }
                continue;
            };
            if account.before.as_ref().is_none_or(|before| before.code_hash != now.code_hash) {
                if let Some(code) = self.prepared.get(&now.code_hash) {
                    archive.code(code.original_byte_slice());
                }
            }
            let storage = account.storage_root(&self.nodes, archive)?;
            if storage != account.storage || !same(&account.before, &account.now) {
                state.put(&account.key, encode_account(now, &storage), &self.nodes)?;
            }
        }
        for key in gone {
            state.cut(&key, &self.nodes)?;
        }
        Ok(state.root(archive))
    }

    fn account(&mut self, address: Address) -> Result<&mut Account, Unknown> {
        match self.accounts.entry(address) {
            Entry::Occupied(account) => Ok(account.into_mut()),
            Entry::Vacant(place) => {
                let account = Account::read(address, self.root, &self.nodes)?;
                let blank = account.before.as_ref().is_none_or(|now| now.nonce == 0 && now.is_empty_code_hash());
                if blank && account.storage != EMPTY_ROOT {
                    return Err(Unknown::OnlyStorage(address));
                }
                Ok(place.insert(account))
            }
        }
    }

    /// Keep the first question that has no answer.
    fn note<T>(&mut self, answer: Result<T, Unknown>) -> Result<T, Unknown> {
        if let Err(unknown) = &answer {
            self.unknown.get_or_insert(*unknown);
        }
        answer
    }

    fn change(&mut self, address: Address, mut changes: Changes) -> Result<(), Unknown> {
        let code_hash = changes.info.code_hash;
        if let Some(code) = changes.info.code.take() {
            if code_hash != KECCAK256_EMPTY {
                self.prepared.insert(code_hash, code);
            }
        }
        self.account(address)?;
        if let Some(account) = self.accounts.get_mut(&address) {
            account.change(changes, &self.nodes)?;
        }
        Ok(())
    }

    fn value(&mut self, address: Address, index: U256) -> Result<U256, Unknown> {
        self.account(address)?;
        match self.accounts.get_mut(&address) {
            Some(account) => Ok(account.slot(index, &self.nodes)?.now),
            None => Ok(U256::ZERO),
        }
    }

    fn code(&mut self, hash: B256) -> Result<Bytecode, Unknown> {
        if hash == KECCAK256_EMPTY {
            return Ok(Bytecode::default());
        }
        if let Some(code) = self.prepared.get(&hash) {
            return Ok(code.clone());
        }
        let code = code::prepare(self.codes.get(&hash).ok_or(Unknown::Code(hash))?);
        self.prepared.insert(hash, code.clone());
        Ok(code)
    }
}

impl Database for State<'_> {
    type Error = Unknown;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Unknown> {
        let answer = self.account(address).map(|account| account.now.clone());
        self.note(answer)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Unknown> {
        let answer = self.code(hash);
        self.note(answer)
    }

    fn storage(&mut self, address: Address, index: U256) -> Result<U256, Unknown> {
        let answer = self.value(address, index);
        self.note(answer)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Unknown> {
        let found = self.hashes.iter().find(|(of, _)| *of == number);
        let answer = found.map(|(_, hash)| *hash).ok_or(Unknown::BlockHash(number));
        self.note(answer)
    }
}

impl DatabaseCommit for State<'_> {
    fn commit(&mut self, changes: AddressMap<Changes>) {
        for (address, changes) in changes {
            if changes.is_touched() {
                let done = self.change(address, changes);
                let _ = self.note(done); // `unknown` says so at the end: this function cannot
            }
        }
    }
}
