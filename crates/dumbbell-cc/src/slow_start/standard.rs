//! The slow start of RFC 5681 §3.1: one segment for each acknowledgement of new data, up to the threshold or a loss.
//!
//! Where it departs: an acknowledgement of less than a segment adds a whole one, as in most implementations.

use super::{SlowStart, Step};
use crate::{Ack, Context, Setup};
use dumbbell_units::params;

params! {
    /// The standard slow start has no parameters.
    pub struct StandardParams {}
}

/// The standard slow start, which has no state.
#[derive(Clone, Debug)]
pub struct Standard;

impl SlowStart for Standard {
    type Params = StandardParams;
    const SUMMARY: &'static str = "A segment for each acknowledgement of new data.";
    const SOURCE: &'static str = "[RFC 5681 §3.1]";

    fn new(_params: &StandardParams, _setup: &Setup) -> Self {
        Standard
    }

    #[inline]
    fn on_ack(&mut self, _cwnd: f64, context: &Context, _ack: &Ack) -> Step {
        Step::Grow(context.mss)
    }
}
