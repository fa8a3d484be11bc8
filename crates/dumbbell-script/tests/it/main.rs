//! Scripts of segments on the sender and the receiver of the simulator.

mod conversations;
mod linux;
mod parsing;
mod shell;
mod tick;
mod verdicts;
