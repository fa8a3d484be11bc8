//! Split virtqueues [VIRTIO 1.2 §2.7] on the side of the device, over memory that the guest shares.
//!
//! The guest may write anything there: an index, an address or a length that cannot be is an error.

use std::fmt;

/// Most descriptors of a buffer. Linux uses at most 19 for a packet.
const MOST_DESCRIPTORS: usize = 64;

/// Most bytes of a buffer: more than the longest packet with its header.
const MOST_BYTES: u64 = 1 << 17;

/// Size of a descriptor, in bytes.
const DESCRIPTOR: usize = 16;

/// Where the elements of the available and of the used ring begin, after flags and index, in bytes.
const IN_RING: usize = 4;

/// Size of an element of the used ring, in bytes.
const USED: usize = 8;

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// The available ring asks for no interrupts.
const NO_INTERRUPT: u16 = 1;

/// What is wrong with a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingError {
    /// These bytes are not in the shared memory: address and length.
    Memory(u64, u64),
    /// A size that is no power of two up to 32768.
    Size(u32),
    /// The guest offers more buffers than the ring has.
    Index(u16),
    /// A descriptor that the ring does not have.
    Descriptor(u16),
    /// A chain of descriptors is too long, ends nowhere, or has an indirect table.
    Chain,
    /// No buffer is offered for what is to be written, in bytes.
    Empty(u64),
    /// A buffer has no room for what is to be written, in bytes.
    Room(u64),
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RingError::Memory(at, length) => write!(f, "{length} bytes at {at:#x} are outside its memory"),
            RingError::Size(size) => write!(f, "a ring of {size} buffers"),
            RingError::Index(index) => write!(f, "index {index} of a ring is ahead of its buffers"),
            RingError::Descriptor(index) => write!(f, "descriptor {index} is not in its ring"),
            RingError::Chain => write!(f, "a chain of descriptors without end"),
            RingError::Empty(length) => write!(
                f,
                "no buffer is left for {length} bytes: its memory is full, as with thousands of connections at a time"
            ),
            RingError::Room(length) => write!(f, "no room for {length} bytes in a buffer"),
        }
    }
}

/// Memory of a guest, by its physical addresses.
pub trait Memory {
    /// Reads all of `bytes`.
    ///
    /// # Errors
    ///
    /// Some of it is not there.
    fn read_at(&self, address: u64, bytes: &mut [u8]) -> Result<(), RingError>;

    /// Writes all of `bytes`.
    ///
    /// # Errors
    ///
    /// Some of it is not there.
    fn write_at(&self, address: u64, bytes: &[u8]) -> Result<(), RingError>;
}

/// A piece of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    address: u64,
    length: u32,
    is_writable: bool,
}

/// A buffer that the guest offers: the number of its first descriptor, and its pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    head: u16,
    pieces: Vec<Piece>,
}

impl Buffer {
    /// Replaces `bytes` by what the guest has written into the buffer.
    ///
    /// # Errors
    ///
    /// Some of it is not in the shared memory.
    pub fn read(&self, memory: &impl Memory, bytes: &mut Vec<u8>) -> Result<(), RingError> {
        bytes.clear();
        for piece in self.pieces.iter().filter(|piece| !piece.is_writable) {
            let begin = bytes.len();
            bytes.resize(begin + piece.length as usize, 0);
            memory.read_at(piece.address, &mut bytes[begin..])?;
        }
        Ok(())
    }

    /// Writes `bytes` into the buffer.
    ///
    /// # Errors
    ///
    /// It has no room for them.
    pub fn write(&self, memory: &impl Memory, bytes: &[u8]) -> Result<(), RingError> {
        let mut rest = bytes;
        for piece in self.pieces.iter().filter(|piece| piece.is_writable) {
            let (now, later) = rest.split_at(rest.len().min(piece.length as usize));
            memory.write_at(piece.address, now)?;
            rest = later;
        }
        if rest.is_empty() { Ok(()) } else { Err(RingError::Room(bytes.len() as u64)) }
    }
}

/// A virtqueue, with the addresses of its three parts and a copy of each. A part is read or written as a whole, because a
/// call of the system costs more than a page that is copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    size: u16,
    descriptors: u64,
    available: u64,
    used: u64,
    next: u16,
    /// The guest's index when it was read last: buffers before it are known to be there.
    offered: u16,
    /// The guest wanted to be told of buffers that were given back, when that was read last.
    wants_interrupt: bool,
    /// The descriptors when they were read last.
    table: Vec<u8>,
    /// The available ring when it was read last.
    offers: Vec<u8>,
    /// The used ring, in which only the device writes.
    given: Vec<u8>,
    /// End of what is not yet written of the used ring.
    unwritten: usize,
}

/// Two bytes of a part of a ring.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl Ring {
    /// States the number of its buffers.
    ///
    /// # Errors
    ///
    /// No ring has so many.
    pub fn resize(&mut self, size: u32) -> Result<(), RingError> {
        self.size = u16::try_from(size)
            .ok()
            .filter(|size| size.is_power_of_two() && *size <= 1 << 15)
            .ok_or(RingError::Size(size))?;
        let size = usize::from(self.size);
        self.table = vec![0; size * DESCRIPTOR];
        self.offers = vec![0; IN_RING + size * 2];
        self.given = vec![0; IN_RING + size * USED];
        self.unwritten = 0;
        Ok(())
    }

    /// States where its parts are.
    pub fn place(&mut self, descriptors: u64, available: u64, used: u64) {
        (self.descriptors, self.available, self.used) = (descriptors, available, used);
    }

    /// The next buffer that is taken, by its position.
    pub fn restart(&mut self, next: u16) {
        (self.next, self.offered) = (next, next);
    }

    /// Reads which buffers the guest offers now, and whether it wants to be told when they are given back.
    ///
    /// # Errors
    ///
    /// The guest states what cannot be.
    pub fn look(&mut self, memory: &impl Memory) -> Result<(), RingError> {
        if self.size == 0 {
            return Ok(());
        }
        memory.read_at(self.available, &mut self.offers)?;
        self.wants_interrupt = u16_at(&self.offers, 0).is_some_and(|flags| flags & NO_INTERRUPT == 0);
        self.offered = u16_at(&self.offers, 2).unwrap_or(self.next);
        if self.offered.wrapping_sub(self.next) > self.size {
            return Err(RingError::Index(self.offered));
        }
        if self.offered == self.next { Ok(()) } else { memory.read_at(self.descriptors, &mut self.table) }
    }

    /// True if the guest wants to be told of buffers that were given back.
    pub fn wants_interrupt(&self) -> bool {
        self.wants_interrupt
    }

    /// The next buffer that the guest offered at the last look.
    ///
    /// # Errors
    ///
    /// The guest states what cannot be.
    pub fn take(&mut self) -> Result<Option<Buffer>, RingError> {
        if self.next == self.offered {
            return Ok(None);
        }
        let place = IN_RING + usize::from(self.next % self.size.max(1)) * 2;
        let head = u16_at(&self.offers, place).ok_or(RingError::Index(self.next))?;
        let pieces = self.pieces(head)?;
        self.next = self.next.wrapping_add(1);
        Ok(Some(Buffer { head, pieces }))
    }

    fn pieces(&self, head: u16) -> Result<Vec<Piece>, RingError> {
        let mut pieces = Vec::with_capacity(2);
        let (mut index, mut total) = (head, 0);
        loop {
            let descriptor = self.table.get(usize::from(index) * DESCRIPTOR..).and_then(<[u8]>::first_chunk);
            let Some(&[a0, a1, a2, a3, a4, a5, a6, a7, l0, l1, l2, l3, f0, f1, n0, n1]) = descriptor else {
                return Err(RingError::Descriptor(index));
            };
            let address = u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]);
            let length = u32::from_le_bytes([l0, l1, l2, l3]);
            let flags = u16::from_le_bytes([f0, f1]);
            total += u64::from(length);
            if flags & INDIRECT != 0 || pieces.len() == MOST_DESCRIPTORS || total > MOST_BYTES {
                return Err(RingError::Chain);
            }
            pieces.push(Piece { address, length, is_writable: flags & WRITE != 0 });
            if flags & NEXT == 0 {
                return Ok(pieces);
            }
            index = u16::from_le_bytes([n0, n1]);
        }
    }

    /// Gives a buffer back, into which `written` bytes were written, with the next [`Ring::publish`]. Buffers return in
    /// the order in which they were taken.
    pub fn give_back(&mut self, buffer: &Buffer, written: u32) {
        // Nothing is held between calls, so that as many buffers were given back before as were taken.
        let begin = IN_RING + usize::from(self.next.wrapping_sub(1) % self.size.max(1)) * USED;
        self.given[begin..begin + 2].copy_from_slice(&buffer.head.to_le_bytes());
        self.given[begin + 4..begin + USED].copy_from_slice(&written.to_le_bytes());
        self.given[2..IN_RING].copy_from_slice(&self.next.to_le_bytes());
        self.unwritten = self.unwritten.max(begin + USED);
    }

    /// Writes which buffers were given back.
    ///
    /// # Errors
    ///
    /// The ring is not in the shared memory.
    pub fn publish(&mut self, memory: &impl Memory) -> Result<(), RingError> {
        match std::mem::take(&mut self.unwritten) {
            0 => Ok(()),
            end => memory.write_at(self.used, &self.given[..end]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Memory from address 0.
    struct Bytes(RefCell<Vec<u8>>);

    impl Bytes {
        fn slice<T>(
            &self,
            address: u64,
            length: usize,
            with: impl Fn(&mut [u8]) -> T,
        ) -> Result<T, RingError> {
            let fault = RingError::Memory(address, length as u64);
            let begin = usize::try_from(address).map_err(|_| fault)?;
            let end = begin.checked_add(length).ok_or(fault)?;
            self.0.borrow_mut().get_mut(begin..end).map(with).ok_or(fault)
        }
    }

    impl Memory for Bytes {
        fn read_at(&self, address: u64, bytes: &mut [u8]) -> Result<(), RingError> {
            let found = self.slice(address, bytes.len(), |found| found.to_vec())?;
            bytes.copy_from_slice(&found);
            Ok(())
        }
        fn write_at(&self, address: u64, bytes: &[u8]) -> Result<(), RingError> {
            self.slice(address, bytes.len(), |found| found.copy_from_slice(bytes))
        }
    }

    /// Descriptors at 0, the available ring at 0x100, the used one at 0x200.
    fn ring_of_four() -> (Ring, Bytes) {
        let mut ring = Ring::default();
        ring.resize(4).expect("a size");
        ring.place(0, 0x100, 0x200);
        (ring, Bytes(RefCell::new(vec![0; 0x1000])))
    }

    fn read_array<const N: usize>(memory: &Bytes, address: u64) -> [u8; N] {
        let mut bytes = [0; N];
        memory.read_at(address, &mut bytes).expect("in memory");
        bytes
    }

    fn describe(memory: &Bytes, index: u64, address: u64, length: u32, flags: u16, next: u16) {
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        memory.write_at(index * DESCRIPTOR as u64, &bytes).expect("a descriptor");
    }

    fn offer(memory: &Bytes, place: u64, head: u16, index: u16) {
        memory.write_at(0x104 + 2 * place, &head.to_le_bytes()).expect("an entry");
        memory.write_at(0x102, &index.to_le_bytes()).expect("an index");
    }

    #[test]
    fn a_buffer_of_two_pieces_is_read_and_given_back() {
        let (mut ring, memory) = ring_of_four();
        describe(&memory, 2, 0x400, 3, NEXT, 1);
        describe(&memory, 1, 0x500, 2, 0, 0);
        memory.write_at(0x400, b"abc").expect("there");
        memory.write_at(0x500, b"de").expect("there");
        ring.look(&memory).expect("in memory");
        assert_eq!(ring.take(), Ok(None));
        offer(&memory, 0, 2, 1);
        ring.look(&memory).expect("in memory");
        let buffer = ring.take().expect("valid").expect("a buffer");
        let mut bytes = Vec::new();
        buffer.read(&memory, &mut bytes).expect("in memory");
        assert_eq!(bytes, b"abcde");
        ring.give_back(&buffer, 7);
        ring.publish(&memory).expect("in memory");
        assert_eq!(read_array(&memory, 0x200), [0, 0, 1, 0, 2, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(ring.take(), Ok(None));
        assert!(ring.wants_interrupt());
        memory.write_at(0x100, &NO_INTERRUPT.to_le_bytes()).expect("there");
        ring.look(&memory).expect("in memory");
        assert!(!ring.wants_interrupt());
    }

    #[test]
    fn a_buffer_is_written_up_to_its_room() {
        let (mut ring, memory) = ring_of_four();
        describe(&memory, 0, 0x400, 2, WRITE | NEXT, 1);
        describe(&memory, 1, 0x500, 2, WRITE, 0);
        offer(&memory, 0, 0, 1);
        ring.look(&memory).expect("in memory");
        let buffer = ring.take().expect("valid").expect("a buffer");
        assert_eq!(buffer.write(&memory, b"abcd"), Ok(()));
        assert_eq!(read_array(&memory, 0x500), *b"cd");
        assert_eq!(buffer.write(&memory, b"abcde"), Err(RingError::Room(5)));
    }

    #[test]
    fn hostile_rings_are_errors() {
        let taken = |change: &dyn Fn(&mut Ring, &Bytes)| {
            let (mut ring, memory) = ring_of_four();
            describe(&memory, 0, 0x400, 4, 0, 0);
            offer(&memory, 0, 0, 1);
            change(&mut ring, &memory);
            ring.look(&memory)?;
            let buffer = ring.take()?.ok_or(RingError::Chain)?;
            buffer.read(&memory, &mut Vec::new())
        };
        assert_eq!(taken(&|_, _| ()), Ok(()));
        assert_eq!(taken(&|_, memory| offer(memory, 0, 0, 5)), Err(RingError::Index(5)));
        assert_eq!(taken(&|_, memory| offer(memory, 0, 4, 1)), Err(RingError::Descriptor(4)));
        assert_eq!(taken(&|_, memory| describe(memory, 0, 0x400, 4, NEXT, 9)), Err(RingError::Descriptor(9)));
        // A circle, an indirect table, and a length beyond any packet.
        assert_eq!(taken(&|_, memory| describe(memory, 0, 0x400, 4, NEXT, 0)), Err(RingError::Chain));
        assert_eq!(taken(&|_, memory| describe(memory, 0, 0x400, 16, INDIRECT, 0)), Err(RingError::Chain));
        assert_eq!(taken(&|_, memory| describe(memory, 0, 0x400, u32::MAX, 0, 0)), Err(RingError::Chain));
        assert_eq!(taken(&|_, memory| describe(memory, 0, 0xfff, 2, 0, 0)), Err(RingError::Memory(0xfff, 2)));
        assert_eq!(
            taken(&|_, memory| describe(memory, 0, u64::MAX, 2, 0, 0)),
            Err(RingError::Memory(u64::MAX, 2))
        );
        assert_eq!(taken(&|ring, _| ring.place(0, u64::MAX, 0)), Err(RingError::Memory(u64::MAX, 12)));
        for size in [0, 3, 1 << 16, u32::MAX] {
            assert_eq!(Ring::default().resize(size), Err(RingError::Size(size)));
        }
    }
}
