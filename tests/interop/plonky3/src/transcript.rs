//! Plonky3's byte challenger, able to write down what it absorbs and squeezes.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use p3_challenger::{ByteGrindingChallenger, CanObserve, CanSample};

use crate::hash::Hash;
use crate::shard::Sponge;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Start,
    Absorb,
    Squeeze,
}

/// Alternating runs of bytes in and bytes out, in transcript order.
#[derive(Default)]
pub struct Log(Vec<(Direction, Vec<u8>)>);

impl Log {
    fn push(&mut self, direction: Direction, bytes: &[u8]) {
        match self.0.last_mut() {
            Some((last, run)) if *last == direction => run.extend_from_slice(bytes),
            _ => self.0.push((direction, bytes.to_vec())),
        }
    }

    /// One line a run: `start`, `absorb` or `squeeze`, a space, the bytes in hexadecimal.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for (direction, bytes) in &self.0 {
            text.push_str(match direction {
                Direction::Start => "start ",
                Direction::Absorb => "absorb ",
                Direction::Squeeze => "squeeze ",
            });
            for byte in bytes {
                write!(text, "{byte:02x}").expect("writing to a String cannot fail");
            }
            text.push('\n');
        }
        text
    }
}

/// Who the copies of a challenger write for.
enum Recorder {
    /// No recording.
    Silent,
    /// The configuration's own copy: its next clone is the transcript itself.
    Template(Arc<Mutex<Log>>),
    /// The transcript. Its clones are grinding candidates, which must not show up in the log.
    Transcript(Arc<Mutex<Log>>),
}

/// A sponge with an optional log.
pub struct ByteChallenger<H: Hash> {
    inner: Sponge<H>,
    recorder: Recorder,
}

impl<H: Hash> ByteChallenger<H> {
    /// The log, if any, fills while a proof is made or checked.
    pub fn new(inner: Sponge<H>, log: Option<Arc<Mutex<Log>>>) -> Self {
        let recorder = match log {
            None => Recorder::Silent,
            Some(log) => {
                log.lock().unwrap().push(Direction::Start, &inner.start);
                Recorder::Template(log)
            }
        };
        Self { inner, recorder }
    }

    fn record(&self, direction: Direction, bytes: &[u8]) {
        if let Recorder::Transcript(log) = &self.recorder {
            log.lock().unwrap().push(direction, bytes);
        }
    }
}

impl<H: Hash> Clone for ByteChallenger<H> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            recorder: match &self.recorder {
                Recorder::Template(log) => Recorder::Transcript(log.clone()),
                Recorder::Silent | Recorder::Transcript(_) => Recorder::Silent,
            },
        }
    }
}

impl<H: Hash> CanObserve<u8> for ByteChallenger<H> {
    fn observe(&mut self, value: u8) {
        self.record(Direction::Absorb, &[value]);
        self.inner.observe(value);
    }

    fn observe_slice(&mut self, values: &[u8]) {
        self.record(Direction::Absorb, values);
        self.inner.observe_slice(values);
    }
}

impl<H: Hash> CanSample<u8> for ByteChallenger<H> {
    fn sample(&mut self) -> u8 {
        let value = self.inner.sample();
        self.record(Direction::Squeeze, &[value]);
        value
    }
}

impl<H: Hash> ByteGrindingChallenger for ByteChallenger<H> {
    fn find_witness<const W: usize, const S: usize>(
        &self,
        num_candidates: u64,
        encode: impl Fn(u64) -> [u8; W] + Sync,
        accepts: impl Fn([u8; S]) -> bool + Sync,
    ) -> Option<u64> {
        self.inner.find_witness(num_candidates, encode, accepts)
    }
}
