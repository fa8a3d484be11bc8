//! A capture as a sequence of segments, in constant memory.
//!
//! `pcap-parser` finds blocks and records. It tells what is missing from what is wrong, and gives the bytes of a block that
//! is wrong, so that reading goes on behind it. `pcap-file`, with which captures are written here, ends at the first
//! block that it does not accept, such as one whose options have no end, which the specification allows.

mod blocks;
mod error;
mod source;

pub use error::ReadError;

use crate::counts::Counts;
use crate::link::{self, Link, Packet};
use crate::segment::Segment;
use blocks::{Declared, Found};
use dumbbell_units::Time;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapError, PcapNGReader};
use source::{Progress, source};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// Bytes that are held at first, and at most. A record that is longer ends the reading.
const BUFFER: usize = 1 << 18;
const MAX_BUFFER: usize = 1 << 24;

/// How pcapng begins, and how pcap does: with micro- and nanoseconds, in either byte order, and as one old Linux wrote it.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const PCAP: [[u8; 4]; 5] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0x34, 0xcd, 0xb2, 0xa1],
];

const UNREADABLE: &str = "its block cannot be read";
const NO_LENGTH: &str = "the length that it states is not possible";
const BROKEN_GZIP: &str = "the compressed bytes are damaged";

/// Reads the TCP segments of a capture, one at a time.
pub struct Reader {
    name: String,
    input: Box<dyn PcapReaderIterator + Send>,
    is_pcapng: bool,
    declared: Declared,
    progress: Arc<Progress>,
    size: Option<u64>,
    counts: Counts,
    last: Time,
    is_over: bool,
}

/// What the parser has come to.
enum Step {
    /// A record or block of so many bytes, without what is borrowed from it.
    Block(usize, Seen),
    /// More bytes are needed.
    Incomplete,
    /// A record or block is wrong.
    Wrong,
    End,
}

/// What a record or block was.
enum Seen {
    Packet(Packet, Option<Time>),
    Unsupported(u32),
    Damaged(&'static str),
    Other,
}

impl Reader {
    /// Opens a capture. It fails if the file cannot be read, is no capture, or has a link layer that is not read.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let name = path.display().to_string();
        let file = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        match file {
            Ok((metadata, file)) => Self::new(name, file, metadata.is_file().then_some(metadata.len())),
            Err(error) => Err(ReadError::File { name, error }),
        }
    }

    /// Reads a capture from elsewhere. Errors call it by the name.
    pub fn new(name: String, file: impl Read + Send + 'static, size: Option<u64>) -> Result<Self, ReadError> {
        let source = source(file);
        let magic: Option<[u8; 4]> = source.magic.as_slice().try_into().ok();
        let is_pcapng = magic == Some(SECTION);
        let progress = source.progress;
        if let Some(error) = progress.failed() {
            return Err(ReadError::File { name, error: copy(error) });
        }
        let known = magic.is_some_and(|magic| is_pcapng || PCAP.contains(&magic));
        if !known {
            return Err(ReadError::NotACapture { name });
        }
        let input: Result<Box<dyn PcapReaderIterator + Send>, _> = if is_pcapng {
            PcapNGReader::new(BUFFER, source.bytes).map(|reader| Box::new(reader) as _)
        } else {
            LegacyPcapReader::new(BUFFER, source.bytes).map(|reader| Box::new(reader) as _)
        };
        let input = match input {
            Ok(input) => input,
            Err(PcapError::Incomplete(_)) => return Err(ReadError::Empty { name }),
            Err(_) => return Err(ReadError::NotACapture { name }),
        };
        let (declared, counts) = (Declared::default(), Counts::default());
        let mut reader = Reader {
            name,
            input,
            is_pcapng,
            declared,
            progress,
            size,
            counts,
            last: Time::ZERO,
            is_over: false,
        };
        // The header of the file.
        if let Step::Block(size, _) = reader.step() {
            reader.input.consume(size);
        }
        match reader.declared.only_link() {
            Some(number) if !is_pcapng => Err(reader.unsupported(number)),
            _ => Ok(reader),
        }
    }

    /// The next segment. `None` at the end of the capture, however it came.
    pub fn next_segment(&mut self) -> Result<Option<Segment>, ReadError> {
        while !self.is_over {
            match self.step() {
                Step::Block(size, seen) => {
                    self.input.consume(size);
                    if let Some(segment) = self.note(seen)? {
                        return Ok(Some(segment));
                    }
                }
                Step::Incomplete => self.refill()?,
                Step::Wrong => self.step_over(),
                Step::End => self.end(false)?,
            }
        }
        Ok(None)
    }

    /// Packets so far, by what they are.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes of the file that were read so far, compressed if it is.
    pub fn bytes_read(&self) -> u64 {
        self.progress.read()
    }

    /// Size of the file in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    fn step(&mut self) -> Step {
        match self.input.next() {
            Ok((size, block)) => {
                let seen = match self.declared.take(&block) {
                    Found::Frame(frame) => Seen::Packet(link::read(&frame), Some(frame.at)),
                    Found::Untimed(mut frame) => {
                        frame.at = self.last;
                        Seen::Packet(link::read(&frame), None)
                    }
                    Found::Unsupported(number) => Seen::Unsupported(number),
                    Found::Damaged(reason) => Seen::Damaged(reason),
                    Found::Other => Seen::Other,
                };
                Step::Block(size, seen)
            }
            Err(PcapError::Eof) => Step::End,
            Err(PcapError::Incomplete(_) | PcapError::BufferTooSmall | PcapError::UnexpectedEof) => {
                Step::Incomplete
            }
            Err(_) => Step::Wrong,
        }
    }

    fn note(&mut self, seen: Seen) -> Result<Option<Segment>, ReadError> {
        let counts = &mut self.counts;
        let (packet, time) = match seen {
            Seen::Other => return Ok(None),
            Seen::Damaged(reason) => {
                counts.packets += 1;
                counts.damage(counts.packets, reason);
                return Ok(None);
            }
            Seen::Unsupported(number) => {
                counts.packets += 1;
                counts.other += 1;
                return if self.declared.has_no_link() { Err(self.unsupported(number)) } else { Ok(None) };
            }
            Seen::Packet(packet, time) => (packet, time),
        };
        counts.packets += 1;
        match time {
            Some(time) => {
                counts.backwards += u64::from(time < self.last);
                self.last = time;
            }
            None => counts.untimed += 1,
        }
        match packet {
            Packet::Tcp(segment, is_fragment) => {
                counts.tcp += 1;
                counts.fragments += u64::from(is_fragment);
                return Ok(Some(segment));
            }
            Packet::Udp => counts.udp += 1,
            Packet::Other => counts.other += 1,
            Packet::Fragment => counts.fragments += 1,
            Packet::Damaged(reason) => counts.damage(counts.packets, reason),
        }
        Ok(None)
    }

    fn unsupported(&self, number: u32) -> ReadError {
        let (number, link) = Link::of(number).err().unwrap_or((number, String::new()));
        ReadError::LinkType { name: self.name.clone(), number, link }
    }

    /// Length of the record or block at hand, as it states it; `None` if that is not yet read, or not possible.
    fn stated(&self) -> Option<usize> {
        let data = self.input.data();
        let word =
            |at: usize| data.get(at..)?.first_chunk().map(|bytes| self.declared.number(*bytes) as usize);
        if self.is_pcapng {
            // A section states its own byte order behind its length.
            let swapped = data.starts_with(&SECTION) && self.declared.is_swapped(data.get(8..12)?);
            let length = word(4)?;
            let length = if swapped { (length as u32).swap_bytes() as usize } else { length };
            (length >= 12 && length % 4 == 0).then_some(length)
        } else {
            word(8)?.checked_add(16)
        }
    }

    /// Reads more bytes, with a larger buffer if a record needs one.
    fn refill(&mut self) -> Result<(), ReadError> {
        let held = self.input.data().len();
        match self.stated() {
            // It is all there: what is missing is missing inside of it.
            Some(length) if self.is_pcapng && length <= held => self.step_over(),
            Some(length) if length > MAX_BUFFER => self.stop(NO_LENGTH),
            None if held >= 16 => self.stop(NO_LENGTH),
            stated => {
                if let Some(length) = stated.filter(|length| *length >= BUFFER) {
                    self.input.grow(length + BUFFER);
                }
                if self.input.refill().is_err() || self.input.data().len() == held {
                    self.end(held > 0)?;
                }
            }
        }
        Ok(())
    }

    /// Steps over a block that is wrong, or ends where it has no length.
    fn step_over(&mut self) {
        match self.stated() {
            Some(length) if self.is_pcapng && length <= self.input.data().len() => {
                self.input.consume(length);
                self.counts.damage(self.counts.packets + 1, UNREADABLE);
            }
            _ => self.stop(NO_LENGTH),
        }
    }

    /// Ends the reading before the end of the file.
    fn stop(&mut self, reason: &'static str) {
        self.counts.damage(self.counts.packets + 1, reason);
        self.counts.unread_from = Some(self.input.consumed() as u64);
        self.is_over = true;
    }

    /// Ends the reading at the end of the bytes, with a part of a record left or not.
    fn end(&mut self, has_rest: bool) -> Result<(), ReadError> {
        self.is_over = true;
        if let Some(error) = self.progress.failed() {
            return Err(ReadError::File { name: self.name.clone(), error: copy(error) });
        }
        match self.progress.broken().map(std::io::Error::kind) {
            None => self.counts.cut_tail = u64::from(has_rest),
            Some(ErrorKind::UnexpectedEof) => self.counts.cut_tail = 1,
            Some(_) => self.stop(BROKEN_GZIP),
        }
        Ok(())
    }
}

/// The same error once more.
fn copy(error: &std::io::Error) -> std::io::Error {
    match error.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}
