//! The names and signatures of ere 0.16.2 that the adapter uses.

use std::error::Error;
use std::ops::Deref;
use std::path::Path;

/// A compiled guest.
#[derive(Clone, PartialEq, Eq)]
pub struct Elf(pub Vec<u8>);

impl Deref for Elf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Compiles the folder of a guest.
pub trait Compiler {
    type Error: 'static + Send + Sync + Error;

    /// Returns the compiled guest; `args` are further arguments of the compiler.
    fn compile(&self, guest_directory: impl AsRef<Path>, args: &[String]) -> Result<Elf, Self::Error>;
}
