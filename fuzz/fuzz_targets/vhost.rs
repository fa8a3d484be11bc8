//! Any messages to a device. Nothing panics; every message is answered, refused, or needs no answer; and the rings that
//! come of it can be used.

#![no_main]

use arbitrary::Arbitrary;
use dumbbell_fuzz::GuestMemory;
use dumbbell_kernel::vhost::{Device, Event, HEADER, Header, check_interrupt_answer};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Message {
    request: u8,
    flags: u8,
    payload: Vec<u8>,
    descriptors: u8,
}

#[derive(Arbitrary, Debug)]
struct Input {
    raw: [u8; HEADER],
    answer: [u8; 20],
    messages: Vec<Message>,
    memory: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let _ = Header::parse(&input.raw);
    let _ = check_interrupt_answer(&input.answer);
    let memory = GuestMemory::new(input.memory);
    let mut device = Device::new([2, 0, 0, 0, 0, 1]);
    for message in input.messages {
        let length = message.payload.len() as u32;
        let mut header = [0; HEADER];
        header[0] = message.request;
        // Version 1, and whether an answer is wanted.
        header[4] = 1 | message.flags & 0b1100;
        header[8..].copy_from_slice(&length.to_le_bytes());
        let Ok(header) = Header::parse(&header) else { continue };
        assert_eq!(header.payload(), message.payload.len());
        let Ok((reply, event)) = device.on_message(&header, &message.payload, message.descriptors.into())
        else {
            continue;
        };
        if let Some(reply) = reply {
            let (header, payload) = reply.split_first_chunk().expect("a header");
            assert_eq!(Header::parse(header).map(|header| header.payload()), Ok(payload.len()));
        }
        if let Event::Kick(ring) = event {
            let ring = &mut device.rings[ring];
            let mut bytes = Vec::new();
            if ring.look(&memory).is_ok() {
                while let Ok(Some(buffer)) = ring.take() {
                    let _ = buffer.read(&memory, &mut bytes);
                    ring.give_back(&buffer, 0);
                }
                let _ = ring.publish(&memory);
            }
        }
    }
});
