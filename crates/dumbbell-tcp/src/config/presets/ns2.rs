//! The simulator ns-2.35: the agents `TCP` (Tahoe), `Reno`, `Newreno`, `Sack1` and `Vegas` with their defaults: packets
//! of 1,000 bytes and 40 bytes of headers.

use crate::config::recovery::{
    Deflation, NewRenoRules, Ns2SackRules, Ns2VegasRules, RecoverySpec, RenoRules, TahoeRules,
};
use crate::config::{Headers, Nagle, TcpParams};
use crate::rtt::{RfcTimer, TimerSpec};
use dumbbell_cc::algorithms::vegas::VegasParams;
use dumbbell_cc::delay::Numerator;
use dumbbell_cc::{AlgorithmSpec, GrowWhen, Mechanisms, ReductionBase, WindowRules};
use dumbbell_units::{Bytes, Time, Window};

/// Bytes that a SACK block adds to an acknowledgement.
const SACK_BLOCK: Bytes = Bytes(8);

pub(super) fn defaults() -> TcpParams {
    TcpParams {
        recovery: RecoverySpec::Reno(reno()),
        mss: Bytes(1000),
        headers: Headers { sack_block: SACK_BLOCK, ..super::classic::HEADERS },
        initial_ssthresh: Window::Segments(20.0),
        receive_buffer: Window::Segments(20.0),
        timer: TimerSpec::Rfc6298(RfcTimer {
            granularity: Time(10_000_000),
            whole_ticks: true,
            scaled_ticks: true,
            minimum: Time(200_000_000),
            maximum: Time(60_000_000_000),
            initial: Time(3_000_000_000),
            ..RfcTimer::default()
        }),
        nagle: Nagle::Off,
        window: WindowRules {
            grow_when: GrowWhen::Always,
            reduction_base: ReductionBase::RealWindow,
            ..WindowRules::default()
        },
        ..super::classic::defaults()
    }
}

/// `bugFix_` limits Reno to one fast retransmit per window of data.
fn reno() -> RenoRules {
    RenoRules { retransmit_once: true, ..RenoRules::default() }
}

pub(super) fn recovery(family: &str) -> Option<RecoverySpec> {
    match family {
        "tahoe" => {
            Some(RecoverySpec::Tahoe(TahoeRules { timeout_keeps_duplicates: true, ..TahoeRules::default() }))
        }
        "reno" => Some(RecoverySpec::Reno(reno())),
        "newreno" => Some(RecoverySpec::NewReno(NewRenoRules {
            deflation: Deflation::Lasting,
            max_burst: 2,
            ..NewRenoRules::default()
        })),
        "sack" | "rack" => Some(RecoverySpec::Ns2Sack(Ns2SackRules::default())),
        _ => None,
    }
}

/// The agent `Vegas` is the released one: no burst limit, no limited transmit.
pub(super) fn adapt(params: &mut TcpParams) {
    if let AlgorithmSpec::Vegas(vegas) = &mut params.congestion {
        *vegas = VegasParams {
            round_diff: true,
            numerator: Numerator::Ns2,
            fix_timeout: false,
            fix_base_rtt: false,
            fix_invariant: false,
            ..VegasParams::default()
        };
        params.mechanisms = Mechanisms::from_letters("ABCDEFGI").unwrap_or_default();
        params.recovery = RecoverySpec::Ns2Vegas(Ns2VegasRules::default());
        params.limited_transmit = false;
    }
}
