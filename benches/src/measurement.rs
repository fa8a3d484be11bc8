//! One run of the engine or the bare loop, with the CPU time and peak memory of its process.

use crate::bare;
use crate::cases::{self, Case, PAYLOAD};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};
use std::process::Command;

/// First argument of a child process, which makes one measurement.
pub const CHILD: &str = "--measure";

/// The program under measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// The engine with TCP.
    Engine,
    /// The links alone.
    Bare,
}

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Contender::Engine => "engine",
            Contender::Bare => "bare",
        }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Data packets delivered; for the engine, new data in order.
    pub packets: u64,
    /// Events processed.
    pub events: u64,
    /// CPU time for building and running the network, user and system, in seconds.
    pub cpu_s: f64,
    /// Peak resident memory of the process, in bytes.
    pub peak_bytes: u64,
    /// Fingerprint of the run; `None` for the bare loop.
    pub fingerprint: Option<String>,
    /// Utilization of the bottleneck, as a fraction; `None` for the bare loop.
    pub utilization: Option<f64>,
}

fn usage() -> Result<Usage, String> {
    getrusage(UsageWho::RUSAGE_SELF).map_err(|error| format!("the use of resources is not known: {error}"))
}

fn cpu_s(usage: &Usage) -> f64 {
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 * 1e-6
}

/// The system reports resident memory in kibibytes, except on Apple systems, which report bytes.
fn peak_bytes(usage: &Usage) -> u64 {
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    u64::try_from(usage.max_rss()).unwrap_or(0) * unit
}

impl Measurement {
    /// Packets per CPU second.
    pub fn rate(&self) -> f64 {
        self.packets as f64 / self.cpu_s
    }

    /// Events per delivered packet.
    pub fn events_per_packet(&self) -> f64 {
        self.events as f64 / self.packets as f64
    }

    /// Runs in this process.
    fn take(case: &Case, contender: Contender, share: f64) -> Result<Measurement, String> {
        let scenario = case.scenario(share).map_err(|error| error.to_string())?;
        let before = cpu_s(&usage()?);
        let mut measured = match contender {
            Contender::Engine => {
                let outcome = dumbbell_sim::run(&scenario, 1, 0);
                let bytes: u64 = outcome.flows.iter().map(|flow| flow.bytes_delivered).sum();
                Measurement {
                    packets: bytes / u64::from(PAYLOAD),
                    events: outcome.events,
                    cpu_s: 0.0,
                    peak_bytes: 0,
                    fingerprint: Some(format!("{:016x}", outcome.fingerprint)),
                    utilization: Some(outcome.links[0].utilization),
                }
            }
            Contender::Bare => {
                let counts = bare::run(&scenario, case.window()).map_err(|error| error.to_string())?;
                Measurement {
                    packets: counts.packets,
                    events: counts.events,
                    cpu_s: 0.0,
                    peak_bytes: 0,
                    fingerprint: None,
                    utilization: None,
                }
            }
        };
        let after = usage()?;
        measured.cpu_s = cpu_s(&after) - before;
        measured.peak_bytes = peak_bytes(&after);
        Ok(measured)
    }

    /// Runs in a new process.
    pub fn in_new_process(case: &Case, contender: Contender, share: f64) -> Result<Measurement, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot determine the path of this program: {error}"))?;
        let output = Command::new(program)
            .args([CHILD, case.name, contender.name(), &share.to_string()])
            .output()
            .map_err(|error| format!("cannot start a measurement: {error}"))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("{} of {} failed: {}", contender.name(), case.name, stderr.trim()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Measurement::from_json(&text).ok_or_else(|| format!("invalid output of a measurement: {text}"))
    }

    /// Runs the measurement given by the arguments of a child process: case, contender, and share of the packets.
    pub fn from_arguments(arguments: &[String]) -> Result<Measurement, String> {
        let [name, contender, share] = arguments else {
            return Err(format!("{CHILD} takes a case, engine or bare, and a share"));
        };
        let found = cases::CASES.iter().find(|case| case.name == name);
        let case = found.ok_or_else(|| format!("\"{name}\" is not a case"))?;
        let contender = match contender.as_str() {
            "engine" => Contender::Engine,
            "bare" => Contender::Bare,
            other => return Err(format!("\"{other}\" is neither engine nor bare")),
        };
        let share = share.parse().ok().filter(|share| (1e-3..=1e3).contains(share));
        Measurement::take(case, contender, share.ok_or("share: expected a number from 0.001 to 1000")?)
    }

    /// As one JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "packets": self.packets,
            "events": self.events,
            "cpu_s": self.cpu_s,
            "peak_bytes": self.peak_bytes,
            "fingerprint": self.fingerprint,
            "utilization": self.utilization,
        })
    }

    fn from_json(text: &str) -> Option<Measurement> {
        let value: Value = serde_json::from_str(text).ok()?;
        Some(Measurement {
            packets: value["packets"].as_u64()?,
            events: value["events"].as_u64()?,
            cpu_s: value["cpu_s"].as_f64()?,
            peak_bytes: value["peak_bytes"].as_u64()?,
            fingerprint: value["fingerprint"].as_str().map(str::to_owned),
            utilization: value["utilization"].as_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_survives_json() {
        let arguments = ["a", "engine", "0.01"].map(str::to_owned);
        let measured = Measurement::from_arguments(&arguments).expect("a measurement");
        assert!(measured.packets > 10_000 && measured.events > measured.packets);
        assert!(measured.peak_bytes > 100_000);
        assert_eq!(Measurement::from_json(&measured.to_json().to_string()), Some(measured));
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for line in ["", "z engine 1", "a tcp 1", "a bare 0", "a bare much"] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert!(Measurement::from_arguments(&arguments).is_err(), "{line}");
        }
    }
}
