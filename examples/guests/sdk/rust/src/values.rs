//! Values of serde as input and output, encoded by postcard.
use core::cell::Cell;

use postcard::{take_from_bytes, to_allocvec, Error};
use serde::{Deserialize, Serialize};

use crate::io::{read_input, write_output};

/// How many bytes of the input [`read`] has used.
struct Position(Cell<usize>);

// Safety: a guest has one thread.
unsafe impl Sync for Position {}

static POSITION: Position = Position(Cell::new(0));

/// Return the next value of the input.
///
/// The values of the input follow each other, encoded by [postcard](https://docs.rs/postcard). Strings and slices of
/// bytes may be borrowed from the input.
///
/// # Errors
///
/// The input ends before the value does, or its bytes encode no such value. The next call begins at the same place.
pub fn read<T: Deserialize<'static>>() -> Result<T, Error> {
    let rest = &read_input()[POSITION.0.get()..];
    let (value, after) = take_from_bytes(rest)?;
    POSITION.0.set(POSITION.0.get() + rest.len() - after.len());
    Ok(value)
}

/// Append a value to the public output, encoded by [postcard](https://docs.rs/postcard).
///
/// # Errors
///
/// The value has no encoding, such as a sequence of unknown length. Nothing is written then.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Result<(), Error> {
    write_output(&to_allocvec(value)?);
    Ok(())
}
