//! What a guest in Rust may use: input and output as in the zkVM standards v0, exit, memory, and accelerators.
//!
//! A guest begins at `main`, which returns its exit code: `#[no_mangle] extern "C" fn main() -> i32`. A panic puts out
//! its message and is a fault then, so that nothing is proved about it: exit with a code where that is wanted.
#![allow(dead_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::arch::{asm, global_asm};
use core::fmt;
use core::panic::PanicInfo;
use core::ptr;

const INPUT_BASE: usize = 0x8000_0000;
const OUTPUT_BASE: usize = 0xC000_0000;
const MEMORY_END: usize = 0x1_0000_0000;
const STACK_BYTES: usize = 0x100_0000;
const EXIT: usize = 93;
const KECCAK_F: usize = 1024;
const OUT_OF_MEMORY: i32 = 254;

// As sdk/start.S: a stack, a global pointer, main(), and exit with what it returns.
global_asm!(
    ".section .text.start, \"ax\", @progbits",
    ".globl _start",
    "_start:",
    ".option push",
    ".option norelax",
    "la gp, __global_pointer$",
    ".option pop",
    "la sp, __stack_top",
    "call main",
    "li a7, {exit}",
    "ecall",
    ".text",
    exit = const EXIT,
);

/// The input, in place: aligned to 8 bytes, the same at every call.
///
/// Unless the proof states it (`graphprover prove --commit-input`), whoever proves is free to choose it: see `zkvm.h`.
pub fn read_input() -> &'static [u8] {
    let length = unsafe { ptr::read_volatile(INPUT_BASE as *const usize) };
    assert!(length <= OUTPUT_BASE - INPUT_BASE - 8); // the host would have to lie
    unsafe { core::slice::from_raw_parts((INPUT_BASE + 8) as *const u8, length) }
}

/// Append to the public output.
pub fn write_output(bytes: &[u8]) {
    let length = OUTPUT_BASE as *mut usize;
    unsafe {
        let before = ptr::read_volatile(length);
        assert!(bytes.len() <= MEMORY_END - OUTPUT_BASE - 8 - before);
        let to = (OUTPUT_BASE + 8 + before) as *mut u8;
        ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        ptr::write_volatile(length, before + bytes.len());
    }
}

/// The public output, for `writeln!(zkvm::Output, ...)`.
pub struct Output;

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_output(text.as_bytes());
        Ok(())
    }
}

/// End here; 0 means success. Returning from main does the same.
pub fn exit(code: i32) -> ! {
    unsafe { asm!("ecall", in("a0") code as isize, in("a7") EXIT, options(noreturn)) }
}

/// Keccak-f[1600] in place, by the host.
pub fn keccak_f(state: &mut [u64; 25]) {
    unsafe { asm!("ecall", in("a0") state.as_mut_ptr(), in("a7") KECCAK_F, options(nostack, preserves_flags)) }
}

/// Keccak-256 as in Ethereum, on the host's permutation.
pub fn keccak256(data: &[u8]) -> [u8; 32] {
    const RATE: usize = 136;
    let mut state = [0u64; 25];
    let mut blocks = data.chunks_exact(RATE);
    for block in &mut blocks {
        absorb(&mut state, block);
        keccak_f(&mut state);
    }
    let rest = blocks.remainder();
    let mut last = [0u8; RATE];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] ^= 0x01;
    last[RATE - 1] ^= 0x80;
    absorb(&mut state, &last);
    keccak_f(&mut state);
    let mut digest = [0u8; 32];
    for (bytes, word) in digest.chunks_exact_mut(8).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

fn absorb(state: &mut [u64; 25], block: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(block.chunks_exact(8)) {
        *word ^= u64::from_le_bytes(bytes.try_into().unwrap());
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let _ = fmt::write(&mut Output, format_args!("{info}"));
    unsafe { asm!("ebreak", options(noreturn)) }
}

extern "C" {
    static __heap_start: u8;
    static __stack_top: u8;
}

/// Memory from the end of the data up to the stack. Only what was taken last is given back or grows in place.
struct Heap;

static mut NEXT: usize = 0; // of the one thread there is

unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if NEXT == 0 {
            NEXT = ptr::addr_of!(__heap_start) as usize;
        }
        let start = (NEXT + layout.align() - 1) & !(layout.align() - 1);
        let end = ptr::addr_of!(__stack_top) as usize - STACK_BYTES;
        if start > end || layout.size() > end - start {
            exit(OUT_OF_MEMORY);
        }
        NEXT = start + layout.size();
        start as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block as usize + layout.size() == NEXT {
            NEXT = block as usize;
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let last = block as usize + layout.size() == NEXT;
        if last {
            NEXT = block as usize;
        }
        let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if new != block {
            ptr::copy_nonoverlapping(block, new, layout.size().min(size));
        }
        new
    }
}

#[global_allocator]
static HEAP: Heap = Heap;
