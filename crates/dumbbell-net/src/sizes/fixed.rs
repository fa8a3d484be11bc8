//! One size.

use super::Sizes;
use dumbbell_units::{Bytes, Stream, params};

params! {
    /// One size.
    pub struct Fixed {
        /// The size.
        size: Bytes = Bytes(100_000), "bytes", "-", |size| size.0 > 0, "a size above 0";
    }
}

impl Sizes for Fixed {
    fn mean(&self) -> f64 {
        self.size.0 as f64
    }

    fn draw(&self, _random: &mut Stream) -> f64 {
        self.size.0 as f64
    }
}
