//! The command line: runs of it, and the fields of its JSON.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::Error;

const VARIABLE: &str = "GRAPHPROVER";

/// Returns the command with its first arguments.
pub fn graphprover<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os(VARIABLE).unwrap_or("graphprover".into()));
    command.args(arguments);
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Result<Output, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.output().map_err(|error| Error::Io(name, error))
}

/// Runs the command line with `--json`, and returns its exit status and its answer.
pub fn answer(command: &mut Command) -> Result<(bool, Value), Error> {
    let output = run(command.arg("--json"))?;
    match serde_json::from_slice(&output.stdout) {
        Ok(found) => Ok((output.status.success(), found)),
        Err(_) => Err(Error::Graphprover(words(&output))),
    }
}

/// Runs the command line with `--json`, and returns the answer of a success.
pub fn success(command: &mut Command) -> Result<Value, Error> {
    match answer(command)? {
        (true, found) => Ok(found),
        (false, found) => Err(Error::Graphprover(
            found["error"].as_str().unwrap_or("no reason").to_owned(),
        )),
    }
}

/// Returns what a command that has failed wrote to its error output.
pub fn words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    format!("{} ({})", text.trim(), output.status)
}

pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| Error::Io(path.display().to_string(), error))
}

pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(|error| Error::Io(path.display().to_string(), error))
}

/// Returns the whole number of a field.
pub fn number(found: &Value) -> Result<u64, Error> {
    found.as_u64().ok_or_else(|| Error::Answer(found.to_string()))
}

/// Returns the seconds of a field.
pub fn seconds(found: &Value) -> Result<f64, Error> {
    found
        .as_f64()
        .filter(|seconds| *seconds >= 0.0)
        .ok_or_else(|| Error::Answer(found.to_string()))
}

/// Returns the bytes of a field such as `{"hex": "6869", "bytes": 2}`.
pub fn bytes(found: &Value) -> Result<Vec<u8>, Error> {
    let error = || Error::Answer(found.to_string());
    let hex = found["hex"].as_str().filter(|hex| hex.is_ascii()).ok_or_else(error)?;
    let whole: Option<Vec<u8>> = (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok())
        .collect();
    whole.filter(|bytes| found["bytes"] == bytes.len()).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_have_their_length() {
        assert_eq!(
            bytes(&json!({"hex": "00ff6869", "bytes": 4})).unwrap(),
            [0, 255, 104, 105]
        );
        assert!(bytes(&json!({"hex": "", "bytes": 0})).unwrap().is_empty());
        for wrong in [
            json!({"hex": "00ff", "bytes": 1}),
            json!({"hex": "0x", "bytes": 1}),
            json!(null),
        ] {
            assert!(matches!(bytes(&wrong), Err(Error::Answer(_))));
        }
    }

    #[test]
    fn a_command_that_is_not_there_is_an_error() {
        let missing = run(&mut Command::new("/nonexistent/graphprover")).unwrap_err();
        assert!(missing.to_string().starts_with("/nonexistent/graphprover: "));
    }
}
