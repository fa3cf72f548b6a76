//! A sharded proof: `verify_batch` checks each shard, and this module checks the conditions on all shards together.

use std::collections::HashMap;

use p3_field::PrimeCharacteristicRing;
use p3_lookup::{Kind, check_multiplicity_height_bound};

use crate::profile::Challenge;
use crate::setup::{Setup, ValidShard};
use crate::statement::Result;

/// Verifies a proof, sharded or not, given the statement and the bytes of each shard in order of index.
pub fn verify(setups: &[&dyn Setup], proofs: &[Vec<u8>]) -> Result<()> {
    if let ([setup], [proof]) = (setups, proofs)
        && setup.statement().shard.is_none()
    {
        return setup.verify(proof);
    }
    if setups.is_empty() {
        return Err("no shard of a proof".into());
    }
    check_statements(setups)?;
    check_numbers(setups)?;
    let mut shards = Vec::new();
    for (index, (setup, proof)) in setups.iter().zip(proofs).enumerate() {
        let shard = setup.verify_shard(proof);
        shards.push(shard.map_err(|reason| format!("shard {index}: {reason}"))?);
    }
    check_proofs(setups, &shards)
}

/// Checks that these are all shards of one proof, in order.
fn check_statements(setups: &[&dyn Setup]) -> Result<()> {
    let mut digests = None;
    for (index, setup) in setups.iter().enumerate() {
        let statement = setup.statement();
        let shard = statement.shard.as_ref().ok_or("a statement that is no shard")?;
        if shard.digests.len() != setups.len() {
            return Err(format!("{} shards of {}", setups.len(), shard.digests.len()));
        }
        if shard.index != index {
            return Err(format!("shard {} in place of shard {index}", shard.index));
        }
        if *digests.get_or_insert(&shard.digests) != &shard.digests {
            return Err(format!("shard {index} is of another proof than shard 0"));
        }
        if statement.parameters != setups[0].statement().parameters {
            return Err(format!("shard {index} has other parameters than shard 0"));
        }
        if statement.label != setups[0].statement().label {
            return Err(format!("shard {index} has another label than shard 0"));
        }
    }
    Ok(())
}

/// The bus or local lookup with one number, in all shards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner<'a> {
    Bus(&'a str),
    /// A local lookup of a shard.
    Local(usize),
}

/// Checks that a number denotes one bus in all shards or one local lookup of one shard, with equal fingerprints.
///
/// `verify_batch` numbers what a batch has by first appearance; fingerprints depend on the number and on the widest
/// tuple of the batch (p3-batch-stark-0.8.0/src/transcript.rs:454). With different numbers, messages of one bus would
/// not cancel in the sum of all terminals; with equal numbers, messages of different buses could. The first table of a
/// shard may name any bus, because it sends nothing and only assigns numbers.
fn check_numbers(setups: &[&dyn Setup]) -> Result<()> {
    let mut owners = HashMap::new();
    let mut buses = HashMap::new();
    let mut widths = Vec::new();
    for (index, setup) in setups.iter().enumerate() {
        let fail = |message: &str| Err(format!("shard {index}: {message}"));
        let tables = &setup.statement().tables;
        if !tables.first().is_some_and(|head| head.description.sends_nothing()) {
            return fail("its first table sends something");
        }
        let mut own = HashMap::new();
        let mut next = 0;
        let mut widest = 1;
        for (table, lookups) in setup.lookups().iter().enumerate() {
            for lookup in lookups.iter() {
                widest = lookup.elements.iter().map(Vec::len).fold(widest, usize::max);
                let mut fresh = || {
                    next += 1;
                    next - 1
                };
                let (number, owner) = match &lookup.kind {
                    Kind::Global(bus) => (*own.entry(bus).or_insert_with(fresh), Owner::Bus(bus)),
                    Kind::Local => (fresh(), Owner::Local(index)),
                };
                if table == 0 {
                    continue;
                }
                if let Owner::Bus(bus) = owner
                    && *buses.entry(bus).or_insert(number) != number
                {
                    return fail("a bus has another number than in another shard");
                }
                if *owners.entry(number).or_insert(owner) != owner {
                    return fail("a bus or local lookup has the number of another one in another shard");
                }
            }
        }
        widths.push(widest);
    }
    if widths.iter().any(|width| *width != widths[0]) {
        return Err("the widest tuples of the shards differ".into());
    }
    Ok(())
}

/// Checks all valid shards together: counts cannot wrap, the challenges are shared, and all terminals balance.
fn check_proofs(setups: &[&dyn Setup], shards: &[ValidShard]) -> Result<()> {
    let lookups: Vec<_> = setups.iter().flat_map(|setup| setup.lookups().to_vec()).collect();
    let heights: Vec<_> = shards
        .iter()
        .flat_map(|shard| shard.degree_bits.iter().map(|&bits| 1 << bits))
        .collect();
    check_multiplicity_height_bound(&lookups, &heights).map_err(|error| error.to_string())?;
    if shards
        .iter()
        .any(|shard| shard.lookup_pow_witness != shards[0].lookup_pow_witness)
    {
        return Err("the shards have different nonces before the lookup challenges".into());
    }
    let terminals = shards.iter().flat_map(|shard| &shard.terminals);
    if terminals.copied().sum::<Challenge>() != Challenge::ZERO {
        return Err("the lookup terminals of all shards do not add up to zero".into());
    }
    Ok(())
}
