//! The global allocator: memory from `_heap_start` up to `_heap_end`.
use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use core::ptr;

unsafe extern "C" {
    static mut _heap_start: u8;
    static _heap_end: u8;
}

/// An allocator that takes what comes next.
///
/// Only the last block is given back, and only it grows in place: that is what few instructions can do, and a guest's
/// memory costs a proof only where it is touched.
struct Heap {
    /// The end of the last block.
    next: Cell<*mut u8>,
    /// Memory from here on was never given out, and so is zero.
    fresh: Cell<*mut u8>,
}

// Safety: a guest has one thread.
unsafe impl Sync for Heap {}

impl Heap {
    /// Give the last block back.
    fn release(&self, block: *mut u8) {
        self.fresh.set(self.fresh.get().max(self.next.get()));
        self.next.set(block);
    }
}

// Safety: blocks lie between the heap's ends and apart, since `next` grows by each block's size.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let next = self.next.get();
        let padding = next.align_offset(layout.align());
        let room = (&raw const _heap_end).addr() - next.addr();
        if padding > room || layout.size() > room - padding {
            return ptr::null_mut();
        }
        let block = next.wrapping_add(padding);
        self.next.set(block.wrapping_add(layout.size()));
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Safety: the caller's conditions are the same.
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            let used = self.fresh.get().addr().saturating_sub(block.addr());
            // Safety: at most the block itself.
            unsafe { ptr::write_bytes(block, 0, used.min(layout.size())) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block.wrapping_add(layout.size()) == self.next.get() {
            self.release(block);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let last = block.wrapping_add(layout.size()) == self.next.get();
        if !last && size <= layout.size() {
            return block;
        }
        if last {
            self.release(block);
        }
        // Safety: the caller passes a size that fits the alignment.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if new.is_null() {
            if last {
                self.next.set(block.wrapping_add(layout.size())); // the block is still there
            }
        } else if new != block {
            // Safety: both blocks have as many bytes.
            unsafe { ptr::copy_nonoverlapping(block, new, layout.size().min(size)) };
        }
        new
    }
}

#[global_allocator]
static HEAP: Heap = Heap { next: Cell::new(&raw mut _heap_start), fresh: Cell::new(&raw mut _heap_start) };
