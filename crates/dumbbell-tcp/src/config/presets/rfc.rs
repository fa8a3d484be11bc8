//! The RFCs of today: the defaults of [`TcpParams`]. Every congestion control has the same sender, with the detection of
//! losses by time and SACK (RFC 8985, RFC 9937, RFC 5682), and one that starts slowly does so by HyStart++ (RFC 9406).

use crate::config::TcpParams;
use crate::config::recovery::RecoverySpec;
use dumbbell_cc::delay::{Numerator, RttChoice};
use dumbbell_cc::{AlgorithmSpec, SlowStartSpec};

pub(super) fn defaults() -> TcpParams {
    TcpParams::default()
}

pub(super) fn recovery(family: &str) -> Option<RecoverySpec> {
    RecoverySpec::named(family).filter(|recovery| recovery.properties().detects_by_time)
}

pub(super) fn adapt(params: &mut TcpParams) {
    if !params.congestion.takes_slow_start() {
        params.window.slow_start = SlowStartSpec::default();
    }
    super::keep_mechanisms_of_controls(params);
    // A delayed acknowledgement is no sign of a queue: as in Linux, the smallest sample of a round tells its length, and
    // both rates are those of the window. What is acknowledged in a round is up to two segments more or less.
    let (rtt, numerator) = match &mut params.congestion {
        AlgorithmSpec::Vegas(vegas) => (&mut vegas.rtt, &mut vegas.numerator),
        AlgorithmSpec::NewVegas(vegas) => (&mut vegas.rtt, &mut vegas.numerator),
        AlgorithmSpec::VegasA(vegas) => (&mut vegas.rtt, &mut vegas.numerator),
        AlgorithmSpec::RoVegas(vegas) => (&mut vegas.rtt, &mut vegas.numerator),
        AlgorithmSpec::Code(code) => (&mut code.rtt, &mut code.numerator),
        _ => return,
    };
    (*rtt, *numerator) = (RttChoice::Minimum, Numerator::Window);
}
