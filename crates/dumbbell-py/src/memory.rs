//! Memory that cannot be had. Rust aborts a process whose allocation fails, and nothing may unwind from there; this module
//! says in a sentence what was missing, and ends the process with the exit code of rejected input. Stores of completed runs
//! are valid at any time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// Exit code of rejected input, as of the command line.
const REFUSED: i32 = 2;

/// The allocator of the system.
pub struct Ending;

/// Returns a pointer, or ends the process if it is null.
fn or_end(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        end(size);
    }
    pointer
}

#[cold]
fn end(size: usize) -> ! {
    // Nothing here allocates.
    let mut text = [0; 160];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: not enough memory: {size} more bytes are not to be had; expected a smaller input"
    );
    let left = rest.len();
    let _ = std::io::stderr().write_all(&text[..text.len() - left]);
    // SAFETY: ends the process without handlers, which might allocate.
    unsafe { libc::_exit(REFUSED) }
}

// SAFETY: all is left to the allocator of the system.
unsafe impl GlobalAlloc for Ending {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: required of the caller.
        or_end(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: required of the caller.
        or_end(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: required of the caller.
        or_end(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: required of the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}
