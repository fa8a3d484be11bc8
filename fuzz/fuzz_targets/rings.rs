//! Any memory as that of a guest with a ring. Nothing panics, no buffer is longer than a packet can be, and a ring never
//! offers more buffers than it has.

#![no_main]

use arbitrary::Arbitrary;
use dumbbell_fuzz::GuestMemory;
use dumbbell_kernel::rings::Ring;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    size: u32,
    places: [u16; 3],
    begin: u16,
    looks: u8,
    memory: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let Input { size, places, begin, looks, memory } = input;
    let memory = GuestMemory::new(memory);
    let mut ring = Ring::default();
    if ring.resize(size).is_err() {
        return;
    }
    let [descriptors, available, used] = places.map(u64::from);
    ring.place(descriptors, available, used);
    ring.restart(begin);
    let mut bytes = Vec::new();
    for _ in 0..looks {
        if ring.look(&memory).is_err() {
            return;
        }
        for taken in 0.. {
            let Ok(Some(buffer)) = ring.take() else { break };
            assert!(taken < size, "no more buffers than the ring has");
            let is_read = buffer.read(&memory, &mut bytes).is_ok();
            assert!(bytes.len() <= 1 << 17);
            let is_written = buffer.write(&memory, &bytes).is_ok();
            ring.give_back(&buffer, bytes.len() as u32);
            if !(is_read && is_written) {
                break;
            }
        }
        if ring.publish(&memory).is_err() {
            return;
        }
    }
});
