//! The rules of a connection: those that the kernel follows become routes and settings of its hosts, others are refused.

use super::{LARGEST_PACKET, LEAST_MTU, refuse, refuse_name};
use crate::host::{HostSpec, Peer};
use dumbbell_tcp::TcpParams;
use dumbbell_tcp::config::recovery::{Frto, RecoverySpec};
use dumbbell_tcp::config::{self, DelayedAck, EcnMode, Pacing};
use dumbbell_tcp::rtt::{LinuxTimer, RfcTimer, TimerSpec};
use dumbbell_units::spec::{Field, Members, Params, SpecError};
use dumbbell_units::{Time, Value, Window};
use std::net::Ipv4Addr;

/// Headers on the wire: 20 bytes of IPv4 and 20 of TCP, and with timestamps 12 more (RFC 7323 §3).
const HEADERS: u32 = 40;
const TIMESTAMPS: u32 = 12;
/// The option for queueing times [chan2004 §3.1].
const AQT_OPTION: u32 = 8;

/// Smallest segment that the kernel accepts to announce, in bytes.
const LEAST_MSS: u32 = 256;

/// Values of the settings `tcp_rmem` and `tcp_wmem`: large from the start. A send buffer that the kernel sizes limits a
/// long recovery without SACK: it holds all data from the first hole on, and wakes its writer when a third of it is free.
/// A receive window that grows hides duplicate ACKs, which must not change it (RFC 5681 §2).
const BUFFERS: &str = "4096 67108864 67108864";

/// Unsent data that a socket holds, in bytes: little, so that a flow that stops sends little afterwards.
const UNSENT: &str = "131072";

/// Congestion controls of the kernel whose rules the engine has, with the parameters of the environment `linux`.
pub(super) const OWN: [&str; 3] = ["reno", "cubic", "bbr"];

/// The rules of a connection with a congestion control of the kernel; `None` if the engine does not have it as it is there.
pub(super) fn kernels_own(name: &str) -> Option<TcpParams> {
    OWN.contains(&name).then(|| config::Rules::Linux.congestion(name)).flatten()
}

/// The rules of a flow's connections, and their path in the scenario.
pub(super) struct Rules<'a> {
    pub(super) params: &'a TcpParams,
    pub(super) path: String,
}

impl Rules<'_> {
    pub(super) fn field(&self, member: &str) -> String {
        format!("{}.{member}", self.path)
    }

    /// Refuses a table's members unless they have one of these values. Other members are not checked.
    fn members(
        &self,
        table: &str,
        given: &Members,
        accepted: &[(&str, &[Value], &str)],
    ) -> Result<(), SpecError> {
        for (name, values, text) in accepted {
            if let Some(value) = given.get(*name)
                && !values.contains(value)
            {
                return Err(refuse(self.field(&format!("{table}.{name}")), value, *text));
            }
        }
        Ok(())
    }

    /// Headers of a data segment, in bytes.
    pub(super) fn headers(&self) -> u32 {
        let timestamps = if self.params.timestamps { TIMESTAMPS } else { 0 };
        HEADERS + timestamps + if self.params.aqt { AQT_OPTION } else { 0 }
    }

    /// Refuses rules that the kernel does not follow.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        self.check_recovery()?;
        self.check_window()?;
        self.check_sizes()?;
        self.check_timer()?;
        self.check_delayed_ack()?;
        self.check_sending()
    }

    fn check_recovery(&self) -> Result<(), SpecError> {
        match &self.params.recovery {
            RecoverySpec::Rfc6675(rules) => self.members(
                "recovery",
                &rules.members(),
                &[("max_burst", &[0.into()], "0: the kernel does not limit bursts")],
            ),
            RecoverySpec::Rack(rules) => self.members(
                "recovery",
                &rules.members(),
                &[
                    ("prr", &["rfc9937".into()], "\"rfc9937\", as in the kernel"),
                    ("prr_base", &["window".into()], "\"window\", as in the kernel"),
                    ("dup_thresh", &[3.into()], "3, as in the kernel"),
                    ("reo_wnd_mult_max", &[255.into()], "255, as in the kernel"),
                    ("reo_wnd_persist", &[16.into()], "16, as in the kernel"),
                    ("reo_timer_slack", &["2 ms".into()], "\"2 ms\", as in the kernel"),
                    (
                        "reo_timer_tick",
                        &["4 ms".into(), "1 ms".into(), "10 ms".into()],
                        "that of the kernel: \"4 ms\" at 250 Hz, \"1 ms\", or \"10 ms\"",
                    ),
                    ("dsack_after_reordering", &[true.into()], "true, as in the kernel"),
                    ("pto_slack", &["2 ms".into()], "\"2 ms\", as in the kernel"),
                    ("max_ack_delay", &["200 ms".into()], "\"200 ms\", as in the kernel"),
                    ("rto_marks_all", &[false.into()], "false, as in the kernel"),
                    ("undo", &[true.into()], "true, as in the kernel"),
                    ("frto", &["linux".into(), "off".into()], "\"linux\", the kernel's rule, or \"off\""),
                ],
            ),
            RecoverySpec::NewReno(rules) => self.members(
                "recovery",
                &rules.members(),
                &[
                    (
                        "partial_ack",
                        &["slow-but-steady".into()],
                        "\"slow-but-steady\": the kernel restarts the timer at every partial ACK",
                    ),
                    ("max_burst", &[0.into()], "0: the kernel does not limit bursts"),
                ],
            ),
            other => {
                let accepted = "rack, sack, or newreno with partial_ack = \"slow-but-steady\"";
                Err(refuse_name(self.field("recovery"), other.name(), accepted))
            }
        }
    }

    fn check_window(&self) -> Result<(), SpecError> {
        let p = self.params;
        let own = kernels_own(p.congestion.name());
        let slow_start = own.map(|own| own.window.slow_start).unwrap_or_default();
        self.members(
            "window",
            &p.window.members(),
            &[
                (
                    "growth",
                    &["whole-segments".into(), "real".into()],
                    "\"whole-segments\", as in the kernel, or \"real\", as in the eBPF twins",
                ),
                ("grow_when", &["cwnd-limited".into()], "\"cwnd-limited\" (RFC 7661), as in the kernel"),
                (
                    "reduction_base",
                    &["flight".into(), "real-window".into(), "whole-window".into()],
                    "\"whole-window\", the kernel's rule, or \"real-window\" or \"flight\", which are less than a \
                     segment from it for a full window",
                ),
                ("slow_start_at_ssthresh", &[false.into()], "false, as in the kernel"),
                (
                    "validation",
                    &["linux".into(), "restart".into()],
                    "\"linux\", as in the kernel, or \"restart\", the default",
                ),
                ("extra_eighth", &[false.into()], "false, as in the kernel"),
                (
                    "slow_start",
                    &[slow_start.encode()],
                    "that of the kernel's congestion control",
                ),
            ],
        )
    }

    fn check_delayed_ack(&self) -> Result<(), SpecError> {
        match &self.params.delayed_ack {
            DelayedAck::Off => Ok(()),
            DelayedAck::On(delay) => self.members(
                "delayed_ack",
                &delay.members(),
                &[
                    ("segments", &[2.into()], "2, as in the kernel"),
                    (
                        "timer",
                        &["40 ms".into(), "200 ms".into()],
                        "\"40 ms\" or \"200 ms\": the kernel adapts its timer between them",
                    ),
                    ("quick", &[0.into(), 16.into()], "16, as in the kernel, or 0, the default"),
                    ("on_tick", &[false.into()], "false: the kernel has no coarse ticks"),
                ],
            ),
        }
    }

    /// Checks marks, pacing and what duplicate ACKs send.
    fn check_sending(&self) -> Result<(), SpecError> {
        let p = self.params;
        if !matches!(p.ecn, EcnMode::Off | EcnMode::Classic) {
            let accepted =
                "off or classic: the kernel's other feedback belongs to congestion controls of its own";
            return Err(refuse_name(self.field("ecn"), p.ecn.name(), accepted));
        }
        if p.pacing != Pacing::Off {
            let accepted =
                "off: sockets of the testbed have no limit of their rate, which the kernel's pacing needs";
            return Err(refuse(self.field("pacing"), "a table", accepted));
        }
        if p.reading.is_some() {
            let accepted = "nothing: applications of the testbed read at once, with large buffers";
            return Err(refuse(self.field("reading"), "a table", accepted));
        }
        if let Some(rate) = p.max_pacing_rate {
            let accepted = "nothing: sockets of the testbed have no limit of their rate";
            return Err(refuse(self.field("max_pacing_rate"), rate, accepted));
        }
        if !p.limited_transmit {
            let accepted = "true: the kernel sends new data on the first duplicate ACKs";
            return Err(refuse(self.field("limited_transmit"), false, accepted));
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), SpecError> {
        let p = self.params;
        let (stated, option) = (self.headers(), if p.aqt { AQT_OPTION } else { 0 });
        for (name, size) in [("headers.data", p.headers.data.0), ("headers.ack", p.headers.ack.0)] {
            if size != u64::from(stated - option) {
                let without = if p.timestamps { "with" } else { "without" };
                let accepted = format!("{} bytes: IPv4 and TCP {without} timestamps", stated - option);
                return Err(refuse(self.field(name), format!("{size} bytes"), accepted));
            }
        }
        let most = LARGEST_PACKET - stated;
        if p.mss.0 < u64::from(LEAST_MSS) || p.mss.0 > u64::from(most) {
            let accepted = format!("a size from {LEAST_MSS} to {most} bytes");
            return Err(refuse(self.field("mss"), format!("{} bytes", p.mss.0), accepted));
        }
        let fixed = [
            (
                "initial_ssthresh",
                p.initial_ssthresh,
                Window::Unlimited,
                "unlimited: the kernel has no such setting",
            ),
            ("send_buffer", p.send_buffer, Window::Unlimited, "unlimited"),
        ];
        for (name, window, only, accepted) in fixed {
            if window != only {
                return Err(refuse(self.field(name), window, accepted));
            }
        }
        let default = TcpParams::default();
        if p.receive_buffer.bytes(p.mss.0 as u32) < default.receive_buffer.bytes(p.mss.0 as u32) {
            let accepted =
                format!("at least {}: the kernel sizes its buffer by itself", default.receive_buffer);
            return Err(refuse(self.field("receive_buffer"), p.receive_buffer, accepted));
        }
        if p.loss_window.bytes(p.mss.0 as u32) != p.mss.0 as f64 && !p.mechanisms.window_of_two {
            return Err(refuse(self.field("loss_window"), p.loss_window, "1 segment, as in the kernel"));
        }
        self.initial_window().map(drop)
    }

    /// The first window, in segments.
    fn initial_window(&self) -> Result<u64, SpecError> {
        if self.params.mechanisms.window_of_two {
            return Ok(2);
        }
        let segments = self.params.initial_window.bytes(self.params.mss.0 as u32) / self.params.mss.0 as f64;
        if segments.fract() != 0.0 || !(1.0..=1000.0).contains(&segments) {
            let accepted = "whole segments, from 1 to 1000";
            return Err(refuse(self.field("initial_window"), self.params.initial_window, accepted));
        }
        Ok(segments as u64)
    }

    /// Minimum and maximum of the timer.
    fn timer(&self) -> Result<(Time, Time), SpecError> {
        match &self.params.timer {
            TimerSpec::Rfc6298(timer) => Ok((timer.minimum, timer.maximum)),
            TimerSpec::Linux(timer) => Ok((timer.minimum, timer.maximum)),
            other => {
                let accepted = "linux, or rfc6298: the kernel has no coarse ticks";
                Err(refuse_name(self.field("timer"), other.name(), accepted))
            }
        }
    }

    fn check_timer(&self) -> Result<(), SpecError> {
        let (minimum, maximum) = self.timer()?;
        let default = RfcTimer::default();
        let initial = ("initial", &[default.initial.encode()][..], "\"1 s\", as in the kernel");
        match &self.params.timer {
            TimerSpec::Linux(timer) => {
                let unit = LinuxTimer::default().timestamp_unit.encode();
                let unit = ("timestamp_unit", &[unit][..], "\"1 ms\", as in the kernel");
                self.members("timer", &timer.members(), &[initial, unit])?;
            }
            TimerSpec::Rfc6298(timer) => self.members(
                "timer",
                &timer.members(),
                &[
                    (
                        "granularity",
                        &[default.granularity.encode()],
                        "\"1 ms\", the resolution of timers in the kernel",
                    ),
                    ("whole_ticks", &[false.into()], "false: the kernel measures in microseconds"),
                    initial,
                ],
            )?,
            TimerSpec::Bsd(_) => {}
        }
        let is_within = |time: Time, step: u64, least: u64, most: u64| {
            time.0.is_multiple_of(step) && (least..=most).contains(&(time.0 / step))
        };
        if !is_within(minimum, 1000, 1, 120_000_000) {
            let accepted = "whole microseconds, at most 120 s";
            return Err(refuse(self.field("timer.minimum"), minimum, accepted));
        }
        if !is_within(maximum, 1_000_000, 1000, 120_000) {
            let accepted = "whole milliseconds from 1 s to 120 s";
            return Err(refuse(self.field("timer.maximum"), maximum, accepted));
        }
        Ok(())
    }

    /// True if the recovery detects spurious timeouts by new data.
    fn detects_spurious_timeouts(&self) -> bool {
        matches!(&self.params.recovery, RecoverySpec::Rack(rules) if rules.frto != Frto::Off)
    }

    /// True if the recovery sends tail loss probes.
    fn probes(&self) -> bool {
        matches!(&self.params.recovery, RecoverySpec::Rack(rules) if rules.tlp)
    }

    /// The hosts of the flow.
    pub(super) fn hosts(
        &self,
        (sender, receiver): (Ipv4Addr, Ipv4Addr),
    ) -> Result<(HostSpec, HostSpec), SpecError> {
        let p = self.params;
        let (minimum, maximum) = self.timer()?;
        let flag = |is_on: bool| if is_on { "1" } else { "0" }.to_owned();
        let settings: Vec<(String, String)> = [
            // Sockets choose their own; without this, others inherit that of the machine.
            ("tcp_congestion_control", "reno".to_owned()),
            // Otherwise a connection begins with what an earlier one has learnt.
            ("tcp_no_metrics_save", flag(true)),
            ("tcp_slow_start_after_idle", flag(p.idle_restart)),
            ("tcp_sack", flag(p.recovery.properties().uses_sack)),
            ("tcp_dsack", flag(p.recovery.reports_duplicates())),
            ("tcp_timestamps", flag(p.timestamps)),
            ("tcp_window_scaling", flag(true)),
            ("tcp_ecn", flag(p.ecn == EcnMode::Classic)),
            ("tcp_rto_min_us", (minimum.0 / 1000).to_string()),
            ("tcp_rto_max_ms", (maximum.0 / 1_000_000).to_string()),
            // Tail loss probes; other recoveries have neither them nor the detection of spurious timeouts.
            ("tcp_early_retrans", if self.probes() { "3" } else { "0" }.to_owned()),
            ("tcp_frto", if self.detects_spurious_timeouts() { "2" } else { "0" }.to_owned()),
            // Every SACK is sent.
            ("tcp_comp_sack_nr", flag(false)),
            ("tcp_mtu_probing", flag(false)),
            ("tcp_fastopen", flag(false)),
            ("tcp_notsent_lowat", UNSENT.to_owned()),
            ("tcp_rmem", BUFFERS.to_owned()),
            ("tcp_wmem", BUFFERS.to_owned()),
        ]
        .map(|(name, value)| (format!("ipv4/{name}"), value))
        .to_vec();
        // What is announced excludes the headers of IP and TCP, but not options.
        let mss = p.mss.0 as u32 + self.headers() - HEADERS;
        let advertised = ["advmss".to_owned(), mss.to_string()];
        let mut forward = advertised.to_vec();
        forward.extend(["initcwnd".to_owned(), self.initial_window()?.to_string()]);
        let mut reverse = advertised.to_vec();
        if p.delayed_ack == DelayedAck::Off {
            reverse.extend(["quickack".to_owned(), flag(true)]);
        }
        let host = |address, peer, route| HostSpec {
            address,
            mtu: (mss + HEADERS).max(LEAST_MTU) as u16,
            peers: vec![Peer { address: peer, route }],
            settings: settings.clone(),
        };
        Ok((host(sender, receiver, forward), host(receiver, sender, reverse)))
    }
}
