//! Transcendental functions in pure Rust, so that results do not depend on the platform's
//! mathematics library. `+ - * / sqrt` are exact by IEEE 754 and need no wrapper.

/// Bytes as a real number, exact below 2^53. Converting a signed number takes one instruction, an unsigned one several.
#[inline(always)]
pub fn real(bytes: u64) -> f64 {
    bytes as i64 as f64
}

/// The smaller of two numbers that are not NaN. This is one instruction; [`f64::min`] takes several because of NaN.
#[inline(always)]
pub fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// A non-negative number of bytes below 2^63, truncated to whole bytes.
#[inline(always)]
pub fn whole(bytes: f64) -> f64 {
    bytes as i64 as f64
}

/// A non-negative number below 2^62, rounded up to a whole number. [`f64::ceil`] is a call on processors without SSE 4.1.
#[inline(always)]
pub fn rounded_up(x: f64) -> f64 {
    let below = whole(x);
    if below < x { below + 1.0 } else { below }
}

/// Natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// Exponential function.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// `x` raised to the power `y`.
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// Cube root.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// Cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// Complementary error function.
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}
