//! Causes of retransmissions.

use dumbbell_units::choice;

choice! {
    /// Why a segment is sent again.
    pub enum Cause {
        /// The connection request was not answered in time.
        Handshake = "handshake",
        /// Three duplicate ACKs signal a loss [RFC 5681 §3.2].
        DuplicateAcks = "duplicate_acks",
        /// The fine timeout of Vegas: its mechanism C or D [brakmo1995 §3.1].
        FineTimeout = "fine_timeout",
        /// A partial ACK shows the next hole [RFC 6582 §3.2].
        PartialAck = "partial_ack",
        /// Selective acknowledgements leave a hole [RFC 6675 §4].
        Sack = "sack",
        /// A segment sent later was delivered, and the reordering window has passed [RFC 8985 §6].
        Rack = "rack",
        /// A tail loss probe [RFC 8985 §7].
        TailProbe = "tail_probe",
        /// The retransmission timer expired: what was outstanding is sent again [RFC 6298 §5].
        Timeout = "timeout",
    }
}
