//! Exponential sizes.

use super::Sizes;
use dumbbell_units::{Bytes, Stream, params};

params! {
    /// Exponential sizes.
    pub struct Exponential {
        /// Mean size; sizes below half a byte become one byte.
        mean: Bytes = Bytes(100_000), "bytes", "-", |size| size.0 > 0, "a size above 0";
    }
}

impl Sizes for Exponential {
    fn mean(&self) -> f64 {
        self.mean.0 as f64
    }

    fn draw(&self, random: &mut Stream) -> f64 {
        random.exponential(self.mean.0 as f64)
    }
}
