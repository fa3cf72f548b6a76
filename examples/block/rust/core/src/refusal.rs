//! Why a block gets no proof of validity.
use alloc::string::String;
use core::fmt;

/// The reason to refuse a block or an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The block breaks a rule.
    Invalid(String),
    /// The input is malformed, or lacks what the block reads: nothing is known about the block.
    Unusable(String),
}

impl Refusal {
    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid(reason.into())
    }

    pub(crate) fn unusable(reason: impl Into<String>) -> Self {
        Self::Unusable(reason.into())
    }

    /// Return the exit code of the guest: 1 for an invalid block, 2 for an input without a verdict.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Invalid(_) => 1,
            Self::Unusable(_) => 2,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(reason) => write!(to, "invalid: {reason}"),
            Self::Unusable(reason) => write!(to, "no verdict: {reason}"),
        }
    }
}

/// Return an error for an invalid block unless a condition holds.
pub(crate) fn require(holds: bool, otherwise: &'static str) -> Result<(), Refusal> {
    if holds {
        Ok(())
    } else {
        Err(Refusal::invalid(otherwise))
    }
}
