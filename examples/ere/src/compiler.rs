use std::path::Path;
use std::process::Command;

use ere_compiler_core::{Compiler, Elf};

use crate::Error;
use crate::command::{read, run, words};

/// The file that `make` creates in a folder of `graphprover new-guest`.
const GUEST: &str = "guest.elf";

/// Compiles a folder that `graphprover new-guest` has created, by its Makefile.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphproverCompiler;

impl Compiler for GraphproverCompiler {
    type Error = Error;

    /// Runs `make` in the folder; `args` are further arguments of `make`.
    fn compile(&self, guest_directory: impl AsRef<Path>, args: &[String]) -> Result<Elf, Error> {
        let folder = guest_directory.as_ref();
        let output = run(Command::new("make").arg("-C").arg(folder).args(args).arg(GUEST))?;
        if !output.status.success() {
            return Err(Error::Graphprover(words(&output)));
        }
        Ok(Elf(read(&folder.join(GUEST))?))
    }
}
