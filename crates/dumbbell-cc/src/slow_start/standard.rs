//! The slow start of RFC 5681 §3.1: one segment for each acknowledgement of new data, or with `grow_per = "segment"` for
//! each segment that it delivers, up to the threshold or a loss.
//!
//! Where it departs: an acknowledgement of less than a segment adds a whole one, as in most implementations.

use super::{SlowStart, Step};
use crate::{Ack, Context};
use dumbbell_units::{Time, params};

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

    fn new(_params: &StandardParams, _now: Time) -> Self {
        Standard
    }

    #[inline]
    fn on_ack(&mut self, growth: f64, _context: &Context, _ack: &Ack) -> Step {
        Step::Grow(growth)
    }
}
