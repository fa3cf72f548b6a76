//! Text on the debug channel.
use core::fmt;

unsafe extern "C" {
    fn zkvm_print(text: *const u8, size: usize);
}

/// The debug channel, for `writeln!(DebugChannel, ...)`.
///
/// The host shows the text on standard error while the guest runs. It is no part of the statement, so a verifier never
/// sees it.
pub struct DebugChannel;

impl fmt::Write for DebugChannel {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Safety: the function reads `size` bytes.
        unsafe { zkvm_print(text.as_ptr(), text.len()) }
        Ok(())
    }
}

/// Write to the debug channel; for the macros.
///
/// The channel takes everything; only a `Display` of the guest can fail, and it is its own business.
pub fn print(arguments: fmt::Arguments) {
    let _ = fmt::write(&mut DebugChannel, arguments);
}

/// Write text to the debug channel, as `std::print!` does to standard output.
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => {
        $crate::__print(::core::format_args!($($argument)*))
    };
}

/// Write a line to the debug channel, as `std::println!` does to standard output.
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($argument:tt)*) => {
        $crate::print!("{}\n", ::core::format_args!($($argument)*))
    };
}

/// The same as [`print!`](crate::print!): there is one debug channel.
#[macro_export]
macro_rules! eprint {
    ($($argument:tt)*) => {
        $crate::print!($($argument)*)
    };
}

/// The same as [`println!`](crate::println!): there is one debug channel.
#[macro_export]
macro_rules! eprintln {
    ($($argument:tt)*) => {
        $crate::println!($($argument)*)
    };
}
