//! Equally likely sizes between two bounds.

use super::Sizes;
use dumbbell_units::{Bytes, Stream, params};

params! {
    /// Equally likely sizes between two bounds.
    pub struct Uniform {
        /// Smallest size.
        min: Bytes = Bytes(10_000), "bytes", "-", |size| size.0 > 0, "a size above 0";
        /// Largest size.
        max: Bytes = Bytes(1_000_000), "bytes", "-", |size| size.0 > 0, "a size above 0";
    }
}

impl Sizes for Uniform {
    fn mean(&self) -> f64 {
        0.5 * (self.min.0 as f64 + self.max.0 as f64)
    }

    fn draw(&self, random: &mut Stream) -> f64 {
        random.uniform_between(self.min.0 as f64, self.max.0 as f64)
    }

    fn contradiction(&self) -> Option<(&'static str, String)> {
        (self.max < self.min).then(|| ("max", format!("at least min, {}", self.min)))
    }
}
