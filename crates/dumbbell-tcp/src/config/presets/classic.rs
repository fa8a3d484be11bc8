//! TCP as the papers before about 2010 describe it: a name stands for a whole TCP, with the recovery of its age. RFC 5681,
//! RFC 6298, RFC 6582, RFC 6675.

use crate::config::recovery::{NewRenoRules, RecoverySpec};
use crate::config::{DelayedAck, Headers, TcpParams};
use dumbbell_cc::{AlgorithmSpec, WindowRules};
use dumbbell_units::{Bytes, Window};

/// Headers of IP and TCP without options.
pub(super) const HEADERS: Headers = Headers { data: Bytes(40), ack: Bytes(40), sack_block: Bytes(0) };

pub(super) fn defaults() -> TcpParams {
    TcpParams {
        congestion: AlgorithmSpec::Reno(Default::default()),
        recovery: RecoverySpec::NewReno(NewRenoRules::default()),
        window: WindowRules::default(),
        mss: Bytes(1460),
        headers: HEADERS,
        initial_window: Window::Segments(2.0),
        timestamps: false,
        delayed_ack: DelayedAck::Off,
        handshake: false,
        ..TcpParams::default()
    }
}

pub(super) fn recovery(family: &str) -> Option<RecoverySpec> {
    RecoverySpec::named(family)
}

pub(super) fn adapt(_params: &mut TcpParams) {}
