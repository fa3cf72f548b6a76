//! Plonky3 at graphprover's table: proves, verifies and logs transcripts of the same statements.
//!
//! Exit status: 0 done or accepted, 1 rejected, 2 bad usage or an unreadable statement.

mod air;
mod binding;
mod description;
mod hash;
mod profile;
mod separation;
mod setup;
mod shard;
mod shards;
mod statement;
mod transcript;
mod vectors;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{env, fs, io, panic};

use p3_maybe_rayon::prelude::current_num_threads;

use crate::setup::{Setup, decode, setup};
use crate::statement::{Result, Statement};
use crate::transcript::Log;

const USAGE: &str = "usage:
  graphprover-interop prove --statement S.json --traces T.bin --proof OUT [--repeat N]
  graphprover-interop verify --statement S.json --proof IN
  graphprover-interop verify --shards FOLDER        (0/statement.json, 0/payload.bin, then those in 1)
  graphprover-interop verify --list FILE|-          (lines: statement, tab, proof, and so on for all shards of a proof;
                                                     one verdict line each)
  graphprover-interop transcript --statement S.json (--traces T.bin | --proof IN)
  graphprover-interop decode --proof IN             (the proof as JSON)
  graphprover-interop vectors                       (known answers of both hashes, a JSON object a line)";

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
            let repeat = options
                .get("--repeat")
                .map_or(Ok(1), |text| text.parse())
                .map_err(|_| USAGE)?;
            prove(
                required("--statement")?,
                required("--traces")?,
                required("--proof")?,
                repeat,
            )?;
            Ok(ExitCode::SUCCESS)
        }
        "verify" => match (option("--list"), option("--shards")) {
            (Some(list), _) => verify_list(list).map(|()| ExitCode::SUCCESS),
            (_, Some(folder)) => verify_folder(folder).map(exit_code),
            _ => {
                let setup = open(required("--statement")?)?;
                Ok(exit_code(shards::verify(&[&*setup], &[read(required("--proof")?)?])))
            }
        },
        "transcript" => {
            let statement = Statement::read(required("--statement")?)?;
            let log = Arc::new(Mutex::new(Log::default()));
            let setup = setup(statement, Some(log.clone()))?;
            let verdict = match option("--traces") {
                Some(path) => setup.prove(&setup.statement().read_traces(path)?).map(drop),
                None => setup.verify(&read(required("--proof")?)?),
            };
            print!("{}", log.lock().unwrap().lines());
            Ok(exit_code(verdict))
        }
        "decode" => {
            println!("{}", decode(&read(required("--proof")?)?)?);
            Ok(ExitCode::SUCCESS)
        }
        "vectors" => {
            for line in vectors::lines() {
                println!("{line}");
            }
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

/// Proves `repeat` times and prints one JSON line: seconds of the setup and of every proof, and the peak memory.
fn prove(statement: &Path, traces: &Path, output: &Path, repeat: usize) -> Result<()> {
    let statement = Statement::read(statement)?;
    let traces = statement.read_traces(traces)?;
    let start = Instant::now();
    let setup = setup(statement, None)?;
    let setup_seconds = start.elapsed().as_secs_f64();
    let mut prove_seconds = Vec::with_capacity(repeat);
    let mut encoded = Vec::new();
    for _ in 0..repeat {
        let proved = setup.prove(&traces)?;
        prove_seconds.push(proved.seconds);
        encoded = proved.bytes;
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

/// Verifies a sharded proof as `graphprover export` writes them: a folder for each, named by its index.
fn verify_folder(folder: &Path) -> Result<Result<()>> {
    let mut setups = Vec::new();
    let mut proofs = Vec::new();
    for index in 0usize.. {
        let shard = folder.join(index.to_string());
        if !shard.exists() {
            break;
        }
        setups.push(open(&shard.join("statement.json"))?);
        proofs.push(read(&shard.join("payload.bin"))?);
    }
    let setups: Vec<&dyn Setup> = setups.iter().map(AsRef::as_ref).collect();
    Ok(shards::verify(&setups, &proofs))
}

/// Verifies every proof that the list names, in order, with one verdict line each.
fn verify_list(list: &Path) -> Result<()> {
    let lines: Box<dyn BufRead> = if list == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(io::Cursor::new(read(list)?))
    };
    // Neighbouring lines mostly share their statements, whose setup is the expensive part.
    let mut known: HashMap<String, Box<dyn Setup>> = HashMap::new();
    for line in lines.lines() {
        let line = line.map_err(|error| error.to_string())?;
        let fields: Vec<&str> = line.split('\t').collect();
        let (pairs, []) = fields.as_chunks::<2>() else {
            return Err(USAGE.into());
        };
        known.retain(|path, _| pairs.iter().any(|[statement, _]| statement == path));
        let mut proofs = Vec::new();
        for [statement, proof] in pairs {
            if !known.contains_key(*statement) {
                known.insert(statement.to_string(), open(Path::new(statement))?);
            }
            proofs.push(read(Path::new(proof))?);
        }
        let setups: Vec<&dyn Setup> = pairs.iter().map(|[statement, _]| &*known[*statement]).collect();
        match shards::verify(&setups, &proofs) {
            Ok(()) => println!("accepted"),
            Err(reason) => println!("rejected: {}", reason.replace('\n', " ")),
        }
        io::stdout().flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Sets up the statement in a file.
fn open(path: &Path) -> Result<Box<dyn Setup>> {
    setup(Statement::read(path)?, None)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
