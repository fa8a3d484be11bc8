//! A network device of a guest: messages of vhost-user, bytes in and bytes out.
//!
//! The guest is the driver (`arch/um/drivers/virtio_uml.c`), this is the device. Kicks and interrupts are messages too
//! (`INBAND_NOTIFICATIONS`), so that everything has its place in simulated time.

use crate::rings::{Ring, RingError};
use std::fmt;

/// Size of the header of a message, in bytes.
pub const HEADER: usize = 12;

/// Longest payload of a message, in bytes.
pub const MOST_PAYLOAD: usize = 512;

/// Size of the header before each frame, in bytes [VIRTIO 1.2 §5.1.6].
pub const FRAME_HEADER: usize = 12;

/// The ring of frames to the guest, and that of frames from it.
pub const RINGS: usize = 2;

/// Version 1 of vhost-user.
const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_OWNER: u32 = 3;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const SET_VRING_BASE: u32 = 10;
const GET_PROTOCOL_FEATURES: u32 = 15;
const SET_PROTOCOL_FEATURES: u32 = 16;
const SET_VRING_ENABLE: u32 = 18;
const SET_SLAVE_REQ_FD: u32 = 21;
const GET_CONFIG: u32 = 24;
const VRING_KICK: u32 = 35;

/// The request with which a device interrupts.
const VRING_CALL: u32 = 4;

/// The device takes and gives frames without checksum, has a hardware address, and speaks version 1 with protocol
/// features: `CSUM`, `GUEST_CSUM`, `MAC`, `PROTOCOL_FEATURES`, `VERSION_1`.
const FEATURES: u64 = 1 | 1 << 1 | 1 << 5 | 1 << 30 | 1 << 32;

/// `REPLY_ACK`, `SLAVE_REQ`, `CONFIG`, `INBAND_NOTIFICATIONS`.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VhostError {
    /// It is of another version of the protocol, or a reply: its flags.
    Flags(u32),
    /// It is longer than any message, in bytes.
    Size(u32),
    /// There is no such request here.
    Request(u32),
    /// Its payload is too short, or its descriptors are missing: its request.
    Short(u32),
    /// It concerns a ring that the device does not have.
    Ring(u32),
    /// Its ring cannot be.
    InRing(RingError),
    /// An address is in no region of the memory.
    Address(u64),
    /// An interrupt was refused.
    Refused(u64),
}

impl fmt::Display for VhostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VhostError::Flags(flags) => write!(f, "a message with flags {flags:#x}"),
            VhostError::Size(size) => write!(f, "a message of {size} bytes"),
            VhostError::Request(request) => write!(f, "unknown request {request} to a device"),
            VhostError::Short(request) => write!(f, "too short a message with request {request}"),
            VhostError::Ring(index) => write!(f, "a device has no ring {index}"),
            VhostError::InRing(error) => error.fmt(f),
            VhostError::Address(address) => write!(f, "address {address:#x} is in no region of its memory"),
            VhostError::Refused(status) => write!(f, "an interrupt was refused with {status}"),
        }
    }
}

impl From<RingError> for VhostError {
    fn from(error: RingError) -> Self {
        VhostError::InRing(error)
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    request: u32,
    flags: u32,
    size: u32,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    ///
    /// No message has such flags or such a length.
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Self, VhostError> {
        let [r0, r1, r2, r3, f0, f1, f2, f3, s0, s1, s2, s3] = *bytes;
        let request = u32::from_le_bytes([r0, r1, r2, r3]);
        let flags = u32::from_le_bytes([f0, f1, f2, f3]);
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        if flags & VERSION_MASK != VERSION {
            return Err(VhostError::Flags(flags));
        }
        if size as usize > MOST_PAYLOAD {
            return Err(VhostError::Size(size));
        }
        Ok(Header { request, flags, size })
    }

    /// Size of the payload, in bytes.
    pub fn payload(&self) -> usize {
        self.size as usize
    }

    /// A message of this request.
    fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        for word in [request, VERSION | flags, payload.len() as u32] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(payload);
        bytes
    }
}

/// Reads little-endian numbers from a payload.
struct Payload<'a> {
    request: u32,
    rest: &'a [u8],
}

impl Payload<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], VhostError> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(VhostError::Short(self.request))?;
        self.rest = rest;
        Ok(*first)
    }
    fn u32(&mut self) -> Result<u32, VhostError> {
        self.take().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Result<u64, VhostError> {
        self.take().map(u64::from_le_bytes)
    }
}

/// A part of a guest's memory in a file that it shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    guest: u64,
    size: u64,
    user: u64,
    file: u64,
}

impl Region {
    /// Position in the file of these bytes of the guest's memory, if all of them are in this region.
    pub fn in_file(&self, address: u64, length: u64) -> Option<u64> {
        let begin = address.checked_sub(self.guest)?;
        let is_inside = begin.checked_add(length)? <= self.size;
        is_inside.then_some(self.file.checked_add(begin)?)
    }
}

/// What follows from a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    None,
    /// The memory is in the descriptors of the message, one for each region.
    Memory(Vec<Region>),
    /// Interrupts go to the descriptor of the message.
    Interrupts,
    /// The guest has put buffers into this ring.
    Kick(usize),
}

/// What to reply to a message, and what follows from it before.
pub type Outcome = (Option<Vec<u8>>, Event);

/// A device. See the [module](self).
#[derive(Clone, Debug)]
pub struct Device {
    /// Its hardware address.
    mac: [u8; 6],
    regions: Vec<Region>,
    /// Its rings: to the guest, and from it.
    pub rings: [Ring; RINGS],
}

impl Device {
    /// A device with this hardware address.
    pub fn new(mac: [u8; 6]) -> Self {
        Device { mac, regions: Vec::new(), rings: Default::default() }
    }

    /// Its hardware address.
    pub fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// A message of the guest with this many descriptors: what to reply after what follows from it.
    ///
    /// # Errors
    ///
    /// It does not follow the protocol.
    pub fn on_message(
        &mut self,
        header: &Header,
        payload: &[u8],
        descriptors: usize,
    ) -> Result<Outcome, VhostError> {
        let request = header.request;
        if header.flags & REPLY != 0 {
            return Err(VhostError::Flags(header.flags));
        }
        let mut payload = Payload { request, rest: payload };
        let mut event = Event::None;
        let reply = match request {
            GET_FEATURES => Some(FEATURES.to_le_bytes().to_vec()),
            GET_PROTOCOL_FEATURES => Some(PROTOCOL_FEATURES.to_le_bytes().to_vec()),
            GET_CONFIG => Some(self.configuration(&mut payload)?),
            _ => {
                event = self.on_order(request, &mut payload, descriptors)?;
                (header.flags & NEED_REPLY != 0).then(|| 0_u64.to_le_bytes().to_vec())
            }
        };
        Ok((reply.map(|reply| Header::message(request, REPLY, &reply)), event))
    }

    /// A message that asks for nothing.
    fn on_order(
        &mut self,
        request: u32,
        payload: &mut Payload<'_>,
        descriptors: usize,
    ) -> Result<Event, VhostError> {
        match request {
            SET_OWNER | SET_FEATURES | SET_PROTOCOL_FEATURES | SET_VRING_ENABLE => {}
            SET_MEM_TABLE => {
                self.regions = regions(payload)?;
                if descriptors < self.regions.len() {
                    return Err(VhostError::Short(request));
                }
                return Ok(Event::Memory(self.regions.clone()));
            }
            SET_SLAVE_REQ_FD if descriptors > 0 => return Ok(Event::Interrupts),
            SET_SLAVE_REQ_FD => return Err(VhostError::Short(request)),
            SET_VRING_NUM => {
                let ring = self.ring(payload)?.1;
                ring.resize(payload.u32()?)?;
            }
            SET_VRING_BASE => {
                let ring = self.ring(payload)?.1;
                ring.restart(payload.u32()? as u16);
            }
            SET_VRING_ADDR => {
                let index = self.ring(payload)?.0;
                let _flags = payload.u32()?;
                let [descriptors, used, available] = [payload.u64()?, payload.u64()?, payload.u64()?];
                let at = |address| self.physical(address);
                let (descriptors, available, used) = (at(descriptors)?, at(available)?, at(used)?);
                self.rings[index].place(descriptors, available, used);
            }
            VRING_KICK => return Ok(Event::Kick(self.ring(payload)?.0)),
            request => return Err(VhostError::Request(request)),
        }
        Ok(Event::None)
    }

    fn ring(&mut self, payload: &mut Payload<'_>) -> Result<(usize, &mut Ring), VhostError> {
        let index = payload.u32()?;
        let ring = self.rings.get_mut(index as usize).ok_or(VhostError::Ring(index))?;
        Ok((index as usize, ring))
    }

    /// The physical address of an address of the driver.
    fn physical(&self, user: u64) -> Result<u64, VhostError> {
        self.regions
            .iter()
            .find_map(|region| {
                let offset = user.checked_sub(region.user).filter(|offset| *offset < region.size)?;
                region.guest.checked_add(offset)
            })
            .ok_or(VhostError::Address(user))
    }

    /// What the guest reads of its configuration [VIRTIO 1.2 §5.1.4]: the hardware address, and zeros.
    fn configuration(&self, payload: &mut Payload<'_>) -> Result<Vec<u8>, VhostError> {
        let [offset, size, flags] = [payload.u32()?, payload.u32()?, payload.u32()?];
        let mut content = self.mac.to_vec();
        content.resize(MOST_PAYLOAD, 0);
        let asked = (offset as usize).checked_add(size as usize).map(|end| offset as usize..end);
        let asked = asked.and_then(|asked| content.get(asked)).ok_or(VhostError::Size(size))?;
        let mut reply: Vec<u8> = [offset, size, flags].iter().flat_map(|word| word.to_le_bytes()).collect();
        reply.extend(asked);
        Ok(reply)
    }
}

fn regions(payload: &mut Payload<'_>) -> Result<Vec<Region>, VhostError> {
    let count = payload.u32()?;
    payload.u32()?;
    (0..count)
        .map(|_| {
            let [guest, size, user, file] = [payload.u64()?, payload.u64()?, payload.u64()?, payload.u64()?];
            Ok(Region { guest, size, user, file })
        })
        .collect()
}

/// The message that interrupts the guest because of a ring, and whether the guest answers it.
pub fn interrupt(ring: usize, is_answered: bool) -> Vec<u8> {
    let state = [(ring as u32).to_le_bytes(), [0; 4]].concat();
    Header::message(VRING_CALL, if is_answered { NEED_REPLY } else { 0 }, &state)
}

/// Size of the answer to an interrupt, in bytes.
pub const INTERRUPT_ANSWER: usize = HEADER + 8;

/// Reads the answer to an interrupt.
///
/// # Errors
///
/// It is not an answer, or a refusal.
pub fn check_interrupt_answer(bytes: &[u8; INTERRUPT_ANSWER]) -> Result<(), VhostError> {
    let (header, status) = bytes.split_first_chunk().ok_or(VhostError::Short(VRING_CALL))?;
    let header = Header::parse(header)?;
    if header.flags & REPLY == 0 {
        return Err(VhostError::Flags(header.flags));
    }
    match (Payload { request: header.request, rest: status }).u64()? {
        0 => Ok(()),
        status => Err(VhostError::Refused(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(
        device: &mut Device,
        request: u32,
        flags: u32,
        payload: &[u8],
        descriptors: usize,
    ) -> Result<Outcome, VhostError> {
        let bytes = Header::message(request, flags, payload);
        let (header, payload) = bytes.split_first_chunk().expect("a header");
        device.on_message(&Header::parse(header)?, payload, descriptors)
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A device with memory of 0x1000 bytes at 0x10000, which the driver sees at 0x90000, and the file at 0x200.
    fn device() -> Device {
        let mut device = Device::new([2, 0, 0, 0, 0, 1]);
        let table = words(&[1, 0x1_0000, 0x1000, 0x9_0000, 0x200]);
        let region = Region { guest: 0x1_0000, size: 0x1000, user: 0x9_0000, file: 0x200 };
        let acknowledged = Header::message(SET_MEM_TABLE, REPLY, &[0; 8]);
        assert_eq!(
            sent(&mut device, SET_MEM_TABLE, NEED_REPLY, &table, 1),
            Ok((Some(acknowledged), Event::Memory(vec![region])))
        );
        device
    }

    #[test]
    fn features_are_told_and_orders_acknowledged_if_asked() {
        let mut device = device();
        let features = Header::message(GET_FEATURES, REPLY, &FEATURES.to_le_bytes());
        assert_eq!(sent(&mut device, GET_FEATURES, 0, &[], 0), Ok((Some(features), Event::None)));
        assert_eq!(sent(&mut device, SET_OWNER, 0, &[], 0), Ok((None, Event::None)));
        let (reply, event) =
            sent(&mut device, VRING_KICK, NEED_REPLY, &[1, 0, 0, 0, 0, 0, 0, 0], 0).expect("a kick");
        assert_eq!((reply, event), (Some(Header::message(VRING_KICK, REPLY, &[0; 8])), Event::Kick(1)));
    }

    #[test]
    fn rings_are_placed_by_addresses_of_the_driver() {
        let mut device = device();
        sent(&mut device, SET_VRING_NUM, 0, &[1, 0, 0, 0, 4, 0, 0, 0], 0).expect("a size");
        let placed = words(&[1, 0x9_0000, 0x9_0200, 0x9_0100, u64::MAX]);
        sent(&mut device, SET_VRING_ADDR, 0, &placed, 0).expect("addresses");
        let mut expected = Ring::default();
        expected.resize(4).expect("a size");
        expected.place(0x1_0000, 0x1_0100, 0x1_0200);
        assert_eq!(device.rings[1], expected);
    }

    #[test]
    fn the_configuration_is_the_hardware_address() {
        let asked = [0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9];
        let (reply, _) = sent(&mut device(), GET_CONFIG, 0, &asked, 0).expect("a question");
        assert!(reply.expect("an answer").ends_with(&[6, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1]));
    }

    #[test]
    fn hostile_messages_are_errors() {
        let mut device = device();
        let mut refused = |request, payload: &[u8], descriptors| {
            sent(&mut device, request, NEED_REPLY, payload, descriptors).expect_err("an error")
        };
        assert_eq!(refused(77, &[], 0), VhostError::Request(77));
        assert_eq!(refused(VRING_KICK, &[2, 0, 0, 0, 0, 0, 0, 0], 0), VhostError::Ring(2));
        assert_eq!(refused(VRING_KICK, &[1, 0], 0), VhostError::Short(VRING_KICK));
        assert_eq!(refused(SET_SLAVE_REQ_FD, &[], 0), VhostError::Short(SET_SLAVE_REQ_FD));
        assert_eq!(refused(SET_MEM_TABLE, &words(&[u64::MAX]), 9), VhostError::Short(SET_MEM_TABLE));
        assert_eq!(refused(SET_MEM_TABLE, &words(&[1, 0, 1, 0, 0]), 0), VhostError::Short(SET_MEM_TABLE));
        let three = VhostError::InRing(RingError::Size(3));
        assert_eq!(refused(SET_VRING_NUM, &[0, 0, 0, 0, 3, 0, 0, 0], 0), three);
        assert_eq!(refused(GET_CONFIG, &[255; 12], 0), VhostError::Size(u32::MAX));
        let elsewhere = words(&[1, 0x1000, 0x9_0000, 0x9_0000, 0]);
        assert_eq!(refused(SET_VRING_ADDR, &elsewhere, 0), VhostError::Address(0x1000));
        let header = |flags: u32, size: u32| {
            let bytes = [1_u32.to_le_bytes(), flags.to_le_bytes(), size.to_le_bytes()].concat();
            Header::parse(&bytes.try_into().expect("12 bytes"))
        };
        assert_eq!(header(2, 0), Err(VhostError::Flags(2)));
        assert_eq!(header(1, u32::MAX), Err(VhostError::Size(u32::MAX)));
    }

    #[test]
    fn a_region_contains_only_what_is_whole_in_it() {
        let region = Region { guest: 0x1000, size: 0x100, user: 0, file: 0x40 };
        assert_eq!(region.in_file(0x1010, 0xf0), Some(0x50));
        assert_eq!(region.in_file(0x1010, 0xf1), None);
        assert_eq!(region.in_file(0xfff, 1), None);
        assert_eq!(region.in_file(0x1001, u64::MAX), None);
        let at_the_end = Region { file: u64::MAX, ..region };
        assert_eq!(at_the_end.in_file(0x1001, 1), None);
    }

    #[test]
    fn an_interrupt_is_answered_or_refused() {
        let answer = |flags, status: u64| {
            let bytes = Header::message(VRING_CALL, flags, &status.to_le_bytes());
            check_interrupt_answer(&bytes.try_into().expect("20 bytes"))
        };
        assert_eq!(interrupt(1, true).len(), INTERRUPT_ANSWER);
        assert_eq!(interrupt(1, false)[4..8], VERSION.to_le_bytes());
        assert_eq!(answer(REPLY, 0), Ok(()));
        assert_eq!(answer(REPLY, 1), Err(VhostError::Refused(1)));
        assert_eq!(answer(NEED_REPLY, 0), Err(VhostError::Flags(9)));
    }
}
