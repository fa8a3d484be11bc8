//! What scripts may say, and how the rest is refused.
