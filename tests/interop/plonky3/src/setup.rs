//! A statement as Plonky3 proves and verifies it.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use p3_air::BaseAir;
use p3_batch_stark::{BatchVerificationError, PcsError, ProverData, StarkInstance, prove_batch, verify_batch};
use p3_blake3::Blake3;
use p3_keccak::Keccak256Hash;
use p3_lookup::{LookupError, Lookups};
use p3_matrix::dense::RowMajorMatrix;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::binding::binding;
use crate::hash::{Digest, Hash, HashName};
use crate::profile::{Challenge, Config, Proof, Val, config};
use crate::separation::{Separation, Values};
use crate::shard::Sponge;
use crate::statement::{Result, Statement};
use crate::transcript::{ByteChallenger, Log};

/// A statement with what depends on its tables and parameters alone, whatever its hash.
pub trait Setup {
    fn statement(&self) -> &Statement;

    /// Of each table, derived by Plonky3.
    fn lookups(&self) -> &[Lookups<Val>];

    fn prove(&self, traces: &[RowMajorMatrix<Val>]) -> Result<Proved>;

    /// Verifies a proof that is not in shards.
    fn verify(&self, bytes: &[u8]) -> Result<()>;

    /// Verifies a shard but for the sum of its terminals, which is up to the caller.
    ///
    /// `verify_batch` adds up the terminals when everything else has passed: that is its last statement before `Ok`
    /// (p3-batch-stark-0.8.0/src/verifier/mod.rs:843), and the only one that gives this error
    /// (p3-lookup-0.8.0/src/logup.rs:477). So either says that all but the sum holds; any other error is passed on.
    fn verify_shard(&self, bytes: &[u8]) -> Result<ValidShard>;
}

/// A new proof.
pub struct Proved {
    /// Of Plonky3's prover, without the encoding.
    pub seconds: f64,
    pub bytes: Vec<u8>,
}

/// What the shards of a proof have to agree on, or to add up.
pub struct ValidShard {
    pub degree_bits: Vec<usize>,
    pub lookup_pow_witness: Option<Val>,
    pub terminals: Vec<Challenge>,
}

/// Sets up a statement with the hash that it names; the log, if any, fills while a proof is made or checked.
pub fn setup(statement: Statement, log: Option<Arc<Mutex<Log>>>) -> Result<Box<dyn Setup>> {
    Ok(match statement.parameters.hash {
        HashName::Keccak => Box::new(SetupWith::<Keccak256Hash>::new(statement, log)?),
        HashName::Blake3 => Box::new(SetupWith::<Blake3>::new(statement, log)?),
    })
}

/// A setup with this hash; `data` has the preprocessed commitment and the lookups, derived by Plonky3.
struct SetupWith<H: Hash> {
    statement: Statement,
    config: Config<H>,
    data: ProverData<Config<H>>,
    /// Of a shard.
    separation: Option<Arc<Separation>>,
}

impl<H: Hash> SetupWith<H> {
    fn new(statement: Statement, log: Option<Arc<Mutex<Log>>>) -> Result<Self> {
        let parameters = &statement.parameters;
        // Plonky3 commits to preprocessed columns by a configuration with a challenger, of which it makes no use.
        let unused = ByteChallenger::<H>::new(Sponge::new(&Digest::default(), None, false), None);
        let committing = config(parameters, unused, None);
        let data = caught(|| {
            ProverData::from_airs_and_degrees_with_lookup_budgets(
                &committing,
                &statement.tables,
                &statement.log_heights,
                &statement.pin_budgets,
                usize::from(parameters.log_blowup),
            )
        })
        .map_err(|error| format!("Plonky3 refuses these tables: {error}"))?;
        let cap = data
            .common
            .preprocessed
            .as_ref()
            .map(|columns| columns.commitment.as_ref());
        let tables = binding::<H>(&statement, cap.unwrap_or_default())?;
        let separation = statement.shard.as_ref().map(|_| Arc::new(Separation::default()));
        let shard = statement.shard.as_ref().zip(separation.as_ref());
        let start = Sponge::new(&tables, shard, parameters.lookup_pow_bits > 0);
        Ok(Self {
            config: config(parameters, ByteChallenger::new(start, log), separation.clone()),
            statement,
            data,
            separation,
        })
    }

    fn verify_batch(&self, proof: &Proof<H>) -> std::result::Result<(), BatchVerificationError<PcsError<Config<H>>>> {
        let Statement {
            tables, public_values, ..
        } = &self.statement;
        verify_batch(&self.config, tables, proof, public_values, &self.data.common)
    }
}

impl<H: Hash> Setup for SetupWith<H> {
    fn statement(&self) -> &Statement {
        &self.statement
    }

    fn lookups(&self) -> &[Lookups<Val>] {
        &self.data.common.lookups
    }

    fn prove(&self, traces: &[RowMajorMatrix<Val>]) -> Result<Proved> {
        let start = Instant::now();
        let traces: Vec<_> = traces.iter().collect();
        let statement = &self.statement;
        let instances = StarkInstance::new_multiple(&statement.tables, &traces, &statement.public_values);
        if let Some(separation) = &self.separation {
            separation.begin();
        }
        let proof = caught(|| prove_batch(&self.config, &instances, &self.data))?;
        let seconds = start.elapsed().as_secs_f64();
        let bytes = match &self.separation {
            None => postcard::to_allocvec(&proof),
            Some(separation) => postcard::to_allocvec(&(proof, separation.drawn().1)),
        };
        let bytes = bytes.map_err(|error| error.to_string())?;
        Ok(Proved { seconds, bytes })
    }

    fn verify(&self, bytes: &[u8]) -> Result<()> {
        let proof = caught(|| parse::<Proof<H>>(bytes))?;
        caught(|| self.verify_batch(&proof))
    }

    fn verify_shard(&self, bytes: &[u8]) -> Result<ValidShard> {
        let (proof, values) = caught(|| parse::<(Proof<H>, Values)>(bytes))?;
        let widths = self.statement.tables.iter().map(BaseAir::<Val>::width);
        if !values.iter().map(Vec::len).eq(widths) {
            return Err("the values at the separating point are not of all main columns".into());
        }
        let separation = self.separation.as_ref().ok_or("a statement that is no shard")?;
        separation.claim(values);
        caught(|| match self.verify_batch(&proof) {
            Err(BatchVerificationError::Lookup(LookupError::TerminalSumNonZero)) => Ok(()),
            result => result,
        })?;
        Ok(ValidShard {
            degree_bits: proof.degree_bits,
            lookup_pow_witness: proof.lookup_pow_witness,
            terminals: proof
                .lookup_terminals
                .iter()
                .flatten()
                .map(|terminal| terminal.0)
                .collect(),
        })
    }
}

/// The proof as JSON.
pub fn decode(bytes: &[u8]) -> Result<String> {
    // All hashes have digests of the same size, so a proof of any of them reads as one of this.
    let proof = parse::<Proof<Keccak256Hash>>(bytes)?;
    serde_json::to_string(&proof).map_err(|error| error.to_string())
}

/// Parses a proof and refuses all encodings except the canonical one.
fn parse<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let proof: T = postcard::from_bytes(bytes).map_err(|error| format!("not a proof: {error}"))?;
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
