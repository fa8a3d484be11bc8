//! The loop: packets of hosts over a wire, by the monotonic clock.
//!
//! The loop writes what is due, reads what hosts have sent, and [waits](crate::waiting) for either. With the scheduling
//! policy `SCHED_FIFO` it is late by some tens of microseconds, without it by several milliseconds on a busy machine.
//! The time at which a packet is read is the time at which it enters its first link.

use crate::clock::RunClock;
use crate::pcap::Capture;
use crate::space::Space;
use crate::waiting::Waiting;
use crate::wire::Wire;
use dumbbell_sim::paths::Direction;
use dumbbell_units::Time;
use nix::errno::Errno;
use nix::sys::mman::{MlockAllFlags, mlockall};
use nix::sys::prctl::set_timerslack;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Priority among threads under `SCHED_FIFO`; the kernel's own threads have 50 and more, and interrupts must go on.
const PRIORITY: i32 = 49;

/// Packets read from one host before the loop looks at the clock's other duties.
pub(crate) const READS_IN_A_ROW: usize = 32;

/// Longest wait between two looks at the stop flag.
pub(crate) const LONGEST_WAIT: Time = Time(50_000_000);

/// Longest IP packet, in bytes.
pub(crate) const LONGEST_PACKET: usize = 65_535;

/// What the kernel granted to the thread of the loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// The policy `SCHED_FIFO`. Without it, deliveries may be milliseconds late on a busy machine.
    pub is_fifo: bool,
    /// Memory stays in RAM.
    pub is_locked: bool,
}

/// What the loop counted besides the counters of its wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Time from the start of the loop to its end.
    pub elapsed: Time,
    /// What the kernel granted.
    pub granted: Granted,
    /// Packets that a device did not accept.
    pub write_errors: u64,
}

/// The hosts at both ends of a flow, as indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHosts {
    /// The host that sends.
    pub sender: usize,
    /// The host that receives.
    pub receiver: usize,
}

/// Requests what makes the calling thread punctual: its scheduling policy, and that the memory of the whole process stays
/// in RAM. What is refused is only recorded: the run then says how late it was.
pub fn claim_priority() -> Granted {
    // Without `SCHED_FIFO`, timers of the thread would otherwise be up to 50 us late.
    let _ = set_timerslack(1);
    let is_locked = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).is_ok();
    Granted { is_fifo: set_fifo().is_ok(), is_locked }
}

/// Gives the calling thread the policy `SCHED_FIFO`.
#[allow(unsafe_code, reason = "no safe wrapper of this system call is among the dependencies")]
fn set_fifo() -> nix::Result<()> {
    let parameter = nix::libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: process 0 is the calling thread, and the kernel reads the parameter during the call only.
    Errno::result(unsafe { nix::libc::sched_setscheduler(0, nix::libc::SCHED_FIFO, &raw const parameter) })
        .map(drop)
}

/// Carries packets between hosts until `until` or until `stop` becomes true. `flows` gives the hosts of each flow of the
/// scenario. The wire is settled at the end. `capture` sees every packet when it is read from a host, and when it is
/// written to one, with the index of the host.
///
/// Call it in a thread of its own: it requests the priority of [`claim_priority`], which the thread keeps.
///
/// # Errors
///
/// The clock, waiting or a device failed.
pub fn run(
    wire: &mut Wire,
    hosts: &[&Space],
    flows: &[FlowHosts],
    clock: RunClock,
    (until, stop): (Time, &AtomicBool),
    capture: &Capture,
) -> io::Result<Report> {
    let mut report = Report { granted: claim_priority(), ..Report::default() };
    let mut bytes = vec![0; LONGEST_PACKET];
    let mut waiting = Waiting::new(clock, hosts.iter().map(|host| host.device()));
    loop {
        let mut now = clock.now()?;
        while let Some(output) = wire.poll(now) {
            let ends = flows[output.flow as usize];
            let host = if output.direction == Direction::Forward { ends.receiver } else { ends.sender };
            let is_written = hosts[host].device().send(output.bytes).is_ok();
            report.write_errors += u64::from(!is_written);
            capture.on_packet(now, host, output.bytes);
            now = clock.now()?;
        }
        if now >= until || stop.load(Ordering::Relaxed) {
            break;
        }
        waiting.until(wire.next_deadline().min(until).min(now + LONGEST_WAIT))?;
        for (host, is_readable) in waiting.readable().enumerate() {
            if is_readable {
                read(wire, hosts[host], clock, &mut bytes, |at, bytes| capture.on_packet(at, host, bytes))?;
            }
        }
    }
    report.elapsed = clock.now()?;
    wire.end(report.elapsed.min(until));
    Ok(report)
}

/// Reads what a host has sent.
fn read(
    wire: &mut Wire,
    host: &Space,
    clock: RunClock,
    bytes: &mut [u8],
    see: impl Fn(Time, &[u8]),
) -> io::Result<()> {
    for _ in 0..READS_IN_A_ROW {
        match host.device().recv(bytes) {
            Ok(length) => {
                let now = clock.now()?;
                see(now, &bytes[..length]);
                // What the wire refuses, it counts.
                let _ = wire.read(now, &bytes[..length]);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
