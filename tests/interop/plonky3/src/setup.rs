//! A statement as Plonky3 proves and verifies it.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use p3_batch_stark::{BatchVerificationError, PcsError, ProverData, StarkInstance, prove_batch, verify_batch};
use p3_lookup::LookupError;
use p3_matrix::dense::RowMajorMatrix;

use crate::binding::{Digest, binding};
use crate::profile::{Config, Proof, Val, config};
use crate::shard::Sponge;
use crate::statement::{Result, Statement};
use crate::transcript::ByteChallenger;

/// A statement with what depends on its tables alone: the preprocessed commitment and the lookups, derived by Plonky3.
pub struct Setup {
    pub statement: Statement,
    config: Config,
    pub data: ProverData<Config>,
}

impl Setup {
    pub fn read(path: &Path) -> Result<Self> {
        Self::new(Statement::read(path)?, ByteChallenger::new)
    }

    /// `challenger` makes the transcript, given where it starts.
    pub fn new(statement: Statement, challenger: impl FnOnce(Sponge) -> ByteChallenger) -> Result<Self> {
        let parameters = &statement.parameters;
        // Plonky3 commits to preprocessed columns by a configuration with a challenger, of which it makes no use.
        let unused = ByteChallenger::new(Sponge::new(&Digest::default(), None, false));
        let committing = config(parameters, unused);
        let data = caught(|| ProverData::from_airs_and_degrees(&committing, &statement.tables, &statement.log_heights))
            .map_err(|error| format!("Plonky3 refuses these tables: {error}"))?;
        let cap = data
            .common
            .preprocessed
            .as_ref()
            .map(|columns| columns.commitment.as_ref());
        let tables = binding(&statement, cap.unwrap_or_default())?;
        let start = Sponge::new(&tables, statement.shard.as_ref(), parameters.lookup_pow_bits > 0);
        Ok(Self {
            config: config(parameters, challenger(start)),
            statement,
            data,
        })
    }

    pub fn prove(&self, traces: &[RowMajorMatrix<Val>]) -> Result<Proof> {
        let traces: Vec<_> = traces.iter().collect();
        let statement = &self.statement;
        let instances = StarkInstance::new_multiple(&statement.tables, &traces, &statement.public_values);
        caught(|| prove_batch(&self.config, &instances, &self.data))
    }

    /// Verifies a proof that is not in shards.
    pub fn verify(&self, bytes: &[u8]) -> Result<()> {
        let proof = caught(|| parse(bytes))?;
        caught(|| self.verify_batch(&proof))
    }

    /// Verifies a shard but for the sum of its terminals, which is up to the caller.
    ///
    /// `verify_batch` adds up the terminals when everything else has passed: that is its last statement before `Ok`
    /// (p3-batch-stark-0.8.0/src/verifier/mod.rs:843), and the only one that gives this error
    /// (p3-lookup-0.8.0/src/logup.rs:477). So either says that all but the sum holds; any other error is passed on.
    pub fn verify_shard(&self, bytes: &[u8]) -> Result<Proof> {
        let proof = caught(|| parse(bytes))?;
        caught(|| match self.verify_batch(&proof) {
            Err(BatchVerificationError::Lookup(LookupError::TerminalSumNonZero)) => Ok(()),
            result => result,
        })?;
        Ok(proof)
    }

    fn verify_batch(&self, proof: &Proof) -> std::result::Result<(), BatchVerificationError<PcsError<Config>>> {
        let Statement {
            tables, public_values, ..
        } = &self.statement;
        verify_batch(&self.config, tables, proof, public_values, &self.data.common)
    }
}

/// Parses a proof and refuses all encodings except the canonical one.
pub fn parse(bytes: &[u8]) -> Result<Proof> {
    let proof: Proof = postcard::from_bytes(bytes).map_err(|error| format!("not a proof: {error}"))?;
    let encoded = postcard::to_allocvec(&proof).map_err(|error| error.to_string())?;
    if encoded == bytes {
        Ok(proof)
    } else {
        Err("not the canonical encoding of the proof".into())
    }
}

/// Runs Plonky3 code, which reports some malformed inputs by panicking.
fn caught<T, E: Display>(work: impl FnOnce() -> std::result::Result<T, E>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(payload) => {
            let message = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", message.unwrap_or("no message")))
        }
    }
}
