//! Plonky3 at graphprover's table: proves, verifies and logs transcripts of the same statements.
//!
//! Exit status: 0 done or accepted, 1 rejected, 2 bad usage or an unreadable statement.

mod air;
mod profile;
mod statement;
mod transcript;

use std::collections::HashMap;
use std::fmt::Display;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs, io, panic};

use p3_batch_stark::{CommonData, ProverData, StarkInstance, prove_batch, verify_batch};
use p3_matrix::dense::RowMajorMatrix;
use p3_maybe_rayon::prelude::current_num_threads;

use crate::profile::{Config, Proof, Val, config};
use crate::statement::{Result, Statement};
use crate::transcript::ByteChallenger;

const USAGE: &str = "usage:
  graphprover-interop prove --statement S.json --traces T.bin --proof OUT [--repeat N]
  graphprover-interop verify --statement S.json --proof IN
  graphprover-interop verify --list FILE|-          (lines: statement, tab, proof; one verdict line each)
  graphprover-interop transcript --statement S.json (--traces T.bin | --proof IN)
  graphprover-interop decode --proof IN             (the proof as JSON)";

fn main() -> ExitCode {
    // A panic of Plonky3 is a verdict to report, not a crash to trace.
    panic::set_hook(Box::new(|_| ()));
    match run() {
        Ok(code) => code,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode> {
    let mut arguments = env::args().skip(1);
    let command = arguments.next().ok_or(USAGE)?;
    let mut options = HashMap::new();
    while let Some(key) = arguments.next() {
        options.insert(key, arguments.next().ok_or(USAGE)?);
    }
    let option = |key: &str| options.get(key).map(Path::new);
    let required = |key: &str| option(key).ok_or_else(|| format!("{key} is missing\n{USAGE}"));
    match command.as_str() {
        "prove" => {
            let statement = Statement::read(required("--statement")?)?;
            let traces = statement.read_traces(required("--traces")?)?;
            let repeat = options
                .get("--repeat")
                .map_or(Ok(1), |text| text.parse())
                .map_err(|_| USAGE)?;
            prove(&statement, &traces, required("--proof")?, repeat)?;
            Ok(ExitCode::SUCCESS)
        }
        "verify" => match option("--list") {
            Some(list) => verify_list(list).map(|()| ExitCode::SUCCESS),
            None => {
                let statement = Statement::read(required("--statement")?)?;
                let proof = read(required("--proof")?)?;
                let challenger = ByteChallenger::new(&statement.binding);
                Ok(exit_code(
                    Setup::new(&statement, challenger)?.verify(&statement, &proof),
                ))
            }
        },
        "transcript" => {
            let statement = Statement::read(required("--statement")?)?;
            let (challenger, log) = ByteChallenger::recording(&statement.binding);
            let setup = Setup::new(&statement, challenger)?;
            let verdict = match option("--traces") {
                Some(path) => setup.prove(&statement, &statement.read_traces(path)?).map(drop),
                None => setup.verify(&statement, &read(required("--proof")?)?),
            };
            print!("{}", log.lock().unwrap().lines());
            Ok(exit_code(verdict))
        }
        "decode" => {
            let proof = parse(&read(required("--proof")?)?)?;
            let text = serde_json::to_string(&proof).map_err(|error| error.to_string())?;
            println!("{text}");
            Ok(ExitCode::SUCCESS)
        }
        _ => Err(USAGE.into()),
    }
}

fn exit_code(verdict: Result<()>) -> ExitCode {
    match verdict {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("rejected: {reason}");
            ExitCode::from(1)
        }
    }
}

/// What depends on the tables alone: the preprocessed commitment and the lookups, both derived by Plonky3.
struct Setup {
    config: Config,
    data: ProverData<Config>,
}

impl Setup {
    fn new(statement: &Statement, challenger: ByteChallenger) -> Result<Self> {
        let config = config(&statement.parameters, challenger);
        let data = caught(|| ProverData::from_airs_and_degrees(&config, &statement.tables, &statement.log_heights))
            .map_err(|error| format!("Plonky3 refuses these tables: {error}"))?;
        Ok(Self { config, data })
    }

    fn prove(&self, statement: &Statement, traces: &[RowMajorMatrix<Val>]) -> Result<Proof> {
        let traces: Vec<_> = traces.iter().collect();
        let instances = StarkInstance::new_multiple(&statement.tables, &traces, &statement.public_values);
        caught(|| prove_batch(&self.config, &instances, &self.data))
    }

    fn verify(&self, statement: &Statement, bytes: &[u8]) -> Result<()> {
        let proof = caught(|| parse(bytes))?;
        let common: &CommonData<Config> = &self.data.common;
        caught(|| {
            verify_batch(
                &self.config,
                &statement.tables,
                &proof,
                &statement.public_values,
                common,
            )
        })
    }
}

/// Parses a proof, refusing every byte string but the one that encodes it.
fn parse(bytes: &[u8]) -> Result<Proof> {
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

/// Proves `repeat` times and prints one JSON line: seconds of the setup and of every proof, and the peak memory.
fn prove(statement: &Statement, traces: &[RowMajorMatrix<Val>], output: &Path, repeat: usize) -> Result<()> {
    let start = Instant::now();
    let setup = Setup::new(statement, ByteChallenger::new(&statement.binding))?;
    let setup_seconds = start.elapsed().as_secs_f64();
    let mut prove_seconds = Vec::with_capacity(repeat);
    let mut encoded = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        let proof = setup.prove(statement, traces)?;
        prove_seconds.push(start.elapsed().as_secs_f64());
        encoded = postcard::to_allocvec(&proof).map_err(|error| error.to_string())?;
    }
    fs::write(output, &encoded).map_err(|error| format!("{}: {error}", output.display()))?;
    println!(
        "{}",
        serde_json::json!({
            "setup_seconds": setup_seconds,
            "prove_seconds": prove_seconds,
            "proof_bytes": encoded.len(),
            "peak_bytes": peak_bytes()?,
            "threads": current_num_threads(),
        })
    );
    Ok(())
}

/// The most memory that this process ever held resident.
fn peak_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map(|kibibytes| kibibytes * 1024)
        .ok_or_else(|| "no VmHWM in /proc/self/status".into())
}

/// Verifies every pair of statement and proof that the list names, in order, with one verdict line each.
fn verify_list(list: &Path) -> Result<()> {
    let lines: Box<dyn BufRead> = if list == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(io::Cursor::new(read(list)?))
    };
    // Neighbouring lines mostly share their statement, whose setup is the expensive part.
    let mut last: Option<(String, Statement, Setup)> = None;
    for line in lines.lines() {
        let line = line.map_err(|error| error.to_string())?;
        let (path, proof) = line.split_once('\t').ok_or(USAGE)?;
        if last.as_ref().is_none_or(|(known, ..)| known != path) {
            let statement = Statement::read(Path::new(path))?;
            let setup = Setup::new(&statement, ByteChallenger::new(&statement.binding))?;
            last = Some((path.into(), statement, setup));
        }
        let (_, statement, setup) = last.as_ref().expect("set above");
        match setup.verify(statement, &read(Path::new(proof))?) {
            Ok(()) => println!("accepted"),
            Err(reason) => println!("rejected: {}", reason.replace('\n', " ")),
        }
        io::stdout().flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
