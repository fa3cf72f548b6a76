//! A proof in pieces: `verify_batch` judges each, and here is judged what only all of them together can show.

use std::collections::HashMap;

use p3_field::PrimeCharacteristicRing;
use p3_lookup::{Kind, check_multiplicity_height_bound};

use crate::profile::{Challenge, Proof};
use crate::setup::Setup;
use crate::statement::Result;

/// Verifies a proof, in pieces or not: of each piece the statement and the bytes, in order of index.
pub fn verify(setups: &[&Setup], proofs: &[Vec<u8>]) -> Result<()> {
    if let ([setup], [proof]) = (setups, proofs)
        && setup.statement.piece.is_none()
    {
        return setup.verify(proof);
    }
    if setups.is_empty() {
        return Err("no piece of a proof".into());
    }
    check_statements(setups)?;
    check_numbers(setups)?;
    let mut pieces = Vec::new();
    for (index, (setup, proof)) in setups.iter().zip(proofs).enumerate() {
        let piece = setup.verify_piece(proof);
        pieces.push(piece.map_err(|reason| format!("piece {index}: {reason}"))?);
    }
    check_proofs(setups, &pieces)
}

/// They are all the pieces of one proof, in order.
fn check_statements(setups: &[&Setup]) -> Result<()> {
    let mut digests = None;
    for (index, setup) in setups.iter().enumerate() {
        let statement = &setup.statement;
        let piece = statement.piece.as_ref().ok_or("a statement that is no piece")?;
        if piece.digests.len() != setups.len() {
            return Err(format!("{} pieces of {}", setups.len(), piece.digests.len()));
        }
        if piece.index != index {
            return Err(format!("piece {} in place of piece {index}", piece.index));
        }
        if *digests.get_or_insert(&piece.digests) != &piece.digests {
            return Err(format!("piece {index} is of another proof than piece 0"));
        }
        if statement.parameters != setups[0].statement.parameters {
            return Err(format!("piece {index} has other parameters than piece 0"));
        }
        if statement.label != setups[0].statement.label {
            return Err(format!("piece {index} has another label than piece 0"));
        }
    }
    Ok(())
}

/// What one number stands for, in all pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner<'a> {
    Bus(&'a str),
    /// A local lookup of a piece.
    Local(usize),
}

/// A number stands for one bus in all pieces or for one local lookup of one piece, and fingerprints are alike.
///
/// `verify_batch` numbers what a batch has by first appearance; fingerprints depend on the number and on the widest
/// tuple of the batch (p3-batch-stark-0.8.0/src/transcript.rs:454). What differed between pieces would not meet in the
/// sum of all terminals; what had one number but should not meet could cancel there. The first table of a piece may name
/// anything, because it sends nothing: it is there to give numbers.
fn check_numbers(setups: &[&Setup]) -> Result<()> {
    let mut owners = HashMap::new();
    let mut buses = HashMap::new();
    let mut widths = Vec::new();
    for (index, setup) in setups.iter().enumerate() {
        let fail = |message: &str| Err(format!("piece {index}: {message}"));
        let tables = &setup.statement.tables;
        if !tables.first().is_some_and(|head| head.description.sends_nothing()) {
            return fail("its first table sends something");
        }
        let mut own = HashMap::new();
        let mut next = 0;
        let mut widest = 1;
        for (table, lookups) in setup.data.common.lookups.iter().enumerate() {
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
                    return fail("a bus has another number than in another piece");
                }
                if *owners.entry(number).or_insert(owner) != owner {
                    return fail("a bus or local lookup has the number of another one in another piece");
                }
            }
        }
        widths.push(widest);
    }
    if widths.iter().any(|width| *width != widths[0]) {
        return Err("the widest tuples of the pieces differ".into());
    }
    Ok(())
}

/// Pieces that hold by themselves hold together: counts cannot wrap, one draw was for all, and all terminals balance.
fn check_proofs(setups: &[&Setup], pieces: &[Proof]) -> Result<()> {
    let lookups: Vec<_> = setups
        .iter()
        .flat_map(|setup| setup.data.common.lookups.clone())
        .collect();
    let heights: Vec<_> = pieces
        .iter()
        .flat_map(|piece| piece.degree_bits.iter().map(|&bits| 1 << bits))
        .collect();
    check_multiplicity_height_bound(&lookups, &heights).map_err(|error| error.to_string())?;
    if pieces
        .iter()
        .any(|piece| piece.lookup_pow_witness != pieces[0].lookup_pow_witness)
    {
        return Err("the pieces have different nonces before the lookup challenges".into());
    }
    let terminals = pieces.iter().flat_map(|piece| piece.lookup_terminals.iter().flatten());
    if terminals.map(|terminal| terminal.0).sum::<Challenge>() != Challenge::ZERO {
        return Err("the lookup terminals of all pieces do not add up to zero".into());
    }
    Ok(())
}
