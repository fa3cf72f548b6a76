use std::fmt;
use std::io;

/// An error of the adapter.
#[derive(Debug)]
pub enum Error {
    /// A file or a process, with its name.
    Io(String, io::Error),
    /// The command line has failed: its own words.
    Graphprover(String),
    /// The guest has ended with this exit code.
    ExitCode(i64),
    /// The command line has printed something else than expected.
    Answer(String),
    /// ere asks for what graphprover does not have.
    Unsupported(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(name, error) => write!(f, "{name}: {error}"),
            Self::Graphprover(words) => write!(f, "graphprover: {words}"),
            Self::ExitCode(code) => write!(f, "the guest has ended with exit code {code}"),
            Self::Answer(words) => write!(f, "graphprover has answered {words:?}"),
            Self::Unsupported(words) => write!(f, "graphprover has no {words}"),
        }
    }
}

impl std::error::Error for Error {}
