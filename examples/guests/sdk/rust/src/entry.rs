//! The guest's main function and the types it may return.
use core::fmt::Debug;

/// A type that the main function may return.
///
/// | type | exit code |
/// |---|---|
/// | `()` | 0 |
/// | `i32` | the number |
/// | `Result<T, E>` | of `T`; for an error 1, and the error goes to the debug channel |
pub trait Termination {
    /// Return the exit code.
    fn exit_code(self) -> i32;
}

impl Termination for () {
    fn exit_code(self) -> i32 {
        0
    }
}

impl Termination for i32 {
    fn exit_code(self) -> i32 {
        self
    }
}

impl<T: Termination, E: Debug> Termination for Result<T, E> {
    fn exit_code(self) -> i32 {
        match self {
            Ok(value) => value.exit_code(),
            Err(error) => {
                crate::eprintln!("Error: {error:?}");
                1
            }
        }
    }
}

/// Name the function that the guest begins at.
///
/// The function has no arguments and returns `()`, an `i32` or a `Result` (see [`Termination`]).
///
/// ```ignore
/// graphprover_guest::entry!(main);
///
/// fn main() -> Result<(), &'static str> {
///     Err("the exit code is 1")
/// }
/// ```
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        const _: () = {
            #[unsafe(export_name = "main")]
            extern "C" fn start() -> i32 {
                $crate::Termination::exit_code($main())
            }
        };
    };
}
