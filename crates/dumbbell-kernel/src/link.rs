//! A device of a guest with its socket, and the memory in which frames are.

use crate::frames;
use crate::rings::{Memory, RingError};
use crate::vhost::{self, Device, Event, Header, Outcome, Region, VhostError};
use rustix::io::{Errno, pread, pwrite};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// The rings of a device: to the guest, and from it.
pub const TO_GUEST: usize = 0;
/// See [`TO_GUEST`].
pub const FROM_GUEST: usize = 1;

/// Bit of the header before a frame: its checksum is to be completed [VIRTIO 1.2 §5.1.6].
const NEEDS_CHECKSUM: u8 = 1;

/// Bit of the header before a frame: its checksum was verified.
const IS_VALID: u8 = 2;

/// Most descriptors of a message.
const MOST_DESCRIPTORS: usize = 8;

/// A device with its socket.
#[derive(Debug)]
pub struct Link {
    /// Where the guest sends its messages.
    pub socket: UnixStream,
    /// Where it takes interrupts.
    pub interrupts: Option<Arc<UnixStream>>,
    device: Device,
    memory: Shared,
    input: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

/// The memory that a guest shares.
#[derive(Debug, Default)]
struct Shared {
    regions: Vec<(Region, OwnedFd)>,
}

impl Shared {
    fn place(&self, address: u64, length: usize) -> Result<(&OwnedFd, u64), RingError> {
        let found = self.regions.iter().find_map(|(region, file)| {
            region.in_file(address, length as u64).map(|position| (file, position))
        });
        found.ok_or(RingError::Memory(address, length as u64))
    }
}

impl Memory for Shared {
    fn read_at(&self, address: u64, bytes: &mut [u8]) -> Result<(), RingError> {
        let (file, position) = self.place(address, bytes.len())?;
        let length = bytes.len();
        match pread(file, bytes, position) {
            Ok(read) if read == length => Ok(()),
            _ => Err(RingError::Memory(address, length as u64)),
        }
    }

    fn write_at(&self, address: u64, bytes: &[u8]) -> Result<(), RingError> {
        let (file, position) = self.place(address, bytes.len())?;
        match pwrite(file, bytes, position) {
            Ok(written) if written == bytes.len() => Ok(()),
            _ => Err(RingError::Memory(address, bytes.len() as u64)),
        }
    }
}

impl Link {
    /// The device with this hardware address that has a socket.
    pub fn new(socket: UnixStream, mac: [u8; 6]) -> Self {
        Link {
            socket,
            interrupts: None,
            device: Device::new(mac),
            memory: Shared::default(),
            input: Vec::new(),
            descriptors: VecDeque::new(),
        }
    }

    /// Its hardware address.
    pub fn mac(&self) -> [u8; 6] {
        self.device.mac()
    }

    /// True if the guest wants to be told of what has happened to a ring.
    pub fn wants_interrupt(&self, ring: usize) -> bool {
        self.device.rings[ring].wants_interrupt()
    }

    /// Reads what is there: the number of bytes.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn read(&mut self) -> Result<usize, Errno> {
        let mut bytes = [0; vhost::HEADER + vhost::MOST_PAYLOAD];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut target = [IoSliceMut::new(&mut bytes)];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            match rustix::net::recvmsg(&self.socket, &mut target, &mut ancillary, flags) {
                Err(Errno::INTR) => {}
                received => break received?,
            }
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        self.descriptors.truncate(MOST_DESCRIPTORS);
        self.input.extend(&bytes[..received.bytes]);
        Ok(received.bytes)
    }

    /// Puts a frame into the ring to the guest, with the help of a buffer.
    ///
    /// # Errors
    ///
    /// The guest has no room for it, or states what cannot be.
    pub fn put(&mut self, frame: &[u8], buffer: &mut Vec<u8>) -> Result<(), RingError> {
        buffer.clear();
        buffer.resize(vhost::FRAME_HEADER, 0);
        buffer[0] = IS_VALID;
        // The number of buffers that the frame takes.
        buffer[10] = 1;
        buffer.extend(frame);
        let ring = &mut self.device.rings[TO_GUEST];
        ring.look(&self.memory)?;
        let offered = ring.take()?.ok_or(RingError::Empty(buffer.len() as u64))?;
        offered.write(&self.memory, buffer)?;
        ring.give_back(&offered, buffer.len() as u32);
        ring.publish(&self.memory)
    }

    /// Takes the frames that the guest has put into its ring, with the help of a buffer.
    ///
    /// # Errors
    ///
    /// The guest states what cannot be.
    pub fn take_frames(
        &mut self,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(Vec<u8>),
    ) -> Result<(), RingError> {
        let ring = &mut self.device.rings[FROM_GUEST];
        ring.look(&self.memory)?;
        while let Some(offered) = ring.take()? {
            offered.read(&self.memory, buffer)?;
            ring.give_back(&offered, 0);
            sent(buffer).map(&mut take);
        }
        ring.publish(&self.memory)
    }

    /// The next whole message. The descriptors that it brings are taken.
    ///
    /// # Errors
    ///
    /// It does not follow the protocol.
    pub fn next_message(&mut self) -> Result<Option<Outcome>, VhostError> {
        let Some((header, rest)) = self.input.split_first_chunk() else { return Ok(None) };
        let header = Header::parse(header)?;
        let Some(payload) = rest.get(..header.payload()) else { return Ok(None) };
        let found = self.device.on_message(&header, payload, self.descriptors.len())?;
        self.input.drain(..vhost::HEADER + header.payload());
        match &found.1 {
            Event::Memory(regions) => {
                self.memory.regions = regions.iter().copied().zip(self.descriptors.drain(..)).collect();
            }
            Event::Interrupts => {
                self.interrupts = self.descriptors.pop_front().map(|found| Arc::new(found.into()))
            }
            Event::Kick(_) | Event::None => {}
        }
        Ok(Some(found))
    }
}

/// The frame after the header of a device, with its checksum.
fn sent(bytes: &[u8]) -> Option<Vec<u8>> {
    let (header, frame) = bytes.split_first_chunk::<{ vhost::FRAME_HEADER }>()?;
    let mut frame = frame.to_vec();
    let [flags, _, _, _, _, _, start0, start1, offset0, offset1, ..] = *header;
    if flags & NEEDS_CHECKSUM != 0 {
        let start = u16::from_le_bytes([start0, start1]);
        let offset = u16::from_le_bytes([offset0, offset1]);
        frames::complete_checksum(&mut frame, start.into(), offset.into());
    }
    Some(frame)
}
