//! Why a file is not read at all.

use std::{fmt, io};

/// What is wrong with a file as a whole. Damage to single packets is counted instead.
#[derive(Debug)]
pub enum ReadError {
    /// It could not be opened or read.
    File {
        /// The file.
        name: String,
        /// What the system says.
        error: io::Error,
    },
    /// It does not begin as a capture does.
    NotACapture {
        /// The file.
        name: String,
    },
    /// It ends within its own header.
    Empty {
        /// The file.
        name: String,
    },
    /// Its packets are those of a link layer that is not read.
    LinkType {
        /// The file.
        name: String,
        /// The type, as [tcpdump.org/linktypes] lists it.
        number: u32,
        /// Its name there.
        link: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::File { name, error } => write!(to, "{name} could not be read: {error}"),
            ReadError::NotACapture { name } => {
                write!(to, "{name} is not a capture: pcap and pcapng are read, also compressed with gzip")
            }
            ReadError::Empty { name } => {
                write!(to, "{name} is no whole capture: it ends within the header of the file")
            }
            ReadError::LinkType { name, number, link } => write!(
                to,
                "{name} has packets of link type {number} ({link}): Ethernet, Linux SLL and SLL2, raw IP, and BSD loopback \
                 are read"
            ),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::File { error, .. } => Some(error),
            _ => None,
        }
    }
}
