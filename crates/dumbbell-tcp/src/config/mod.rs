//! The rules in which TCP implementations differ, as parameters, and the presets that set them.
//!
//! A scenario names a `variant` (congestion control and recovery together) and the `rules` of an
//! environment (the defaults of everything else), then overrides single parameters.

mod presets;
pub mod recovery;

use crate::rtt::{RfcTimer, TimerSpec};
use crate::segment::SackBlocks;
use dumbbell_cc::probes::OWN;
use dumbbell_cc::{AlgorithmSpec, External, GrowPer, Mechanisms, ReductionBase, SlowStartSpec, WindowRules};
use dumbbell_units::spec::{self, Field, Members, Node, Params, SpecError};
use dumbbell_units::{Bytes, Rate, Time, Value, Window, choice, params};
pub use presets::Rules;
use recovery::RecoverySpec;

/// Size of the option that requests queueing times, in bytes [chan2004 §3.1].
const AQT_OPTION: u32 = 8;

/// Reads and writes a type with the variants `Off` and `On` as `"off"` or the table of its parameters.
macro_rules! off_or_table {
    ($Name:ident($Params:ident), $accepted:literal) => {
        impl Field for $Name {
            fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
                match node.value() {
                    Value::String(text) if text == "off" => Ok($Name::Off),
                    Value::Object(_) => $Params::decode(node).map($Name::On),
                    _ => Err(node.error(Self::accepted())),
                }
            }
            fn decode_over(self, node: &Node<'_>) -> Result<Self, SpecError> {
                match (self, node.value()) {
                    ($Name::On(params), Value::Object(_)) => params.overlay(node).map($Name::On),
                    _ => Self::decode(node),
                }
            }
            fn encode(&self) -> Value {
                match self {
                    $Name::Off => Value::from("off"),
                    $Name::On(params) => params.encode(),
                }
            }
            fn accepted() -> String {
                $accepted.into()
            }
            fn schema() -> Value {
                spec::any_of(vec![spec::choice_schema(&["off"]), $Params::schema()])
            }
        }
    };
}

/// When a partial segment waits for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// Never.
    Off,
    /// While data is outstanding [RFC 896].
    On,
    /// While a partial segment is outstanding, as in Linux [linux6 tcp_output.c, `tcp_minshall_check`].
    Minshall,
}

/// The name of [`Nagle::Minshall`]; the others are written as truth values.
const MINSHALL: &str = "minshall";

impl Field for Nagle {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        Nagle::On.decode_over(node)
    }
    /// `true` leaves the algorithm of the environment.
    fn decode_over(self, node: &Node<'_>) -> Result<Self, SpecError> {
        match node.value() {
            Value::Bool(false) => Ok(Nagle::Off),
            Value::Bool(true) => Ok(if self == Nagle::Off { Nagle::On } else { self }),
            Value::String(text) if text == MINSHALL => Ok(Nagle::Minshall),
            _ => Err(node.error(Self::accepted())),
        }
    }
    fn encode(&self) -> Value {
        match self {
            Nagle::Off => false.into(),
            Nagle::On => true.into(),
            Nagle::Minshall => MINSHALL.into(),
        }
    }
    fn accepted() -> String {
        format!("true, false or \"{MINSHALL}\"")
    }
    fn schema() -> Value {
        spec::any_of(vec![bool::schema(), spec::choice_schema(&[MINSHALL])])
    }
}

choice! {
    /// How long an acknowledgement is delayed.
    pub enum DelayForm {
        /// Until so many segments have arrived, or for a time (RFC 1122 §4.2.3.2).
        Plain = "plain",
        /// As in Linux: the delay follows the gaps between segments, and begins with `timer`. What is not full is
        /// acknowledged as soon as the application has read it, and acknowledgements of data out of order are compressed.
        Linux = "linux",
    }
}

params! {
    /// Members of the table that enables delayed acknowledgements.
    pub struct DelayedAckParams {
        /// Segments per acknowledgement.
        segments: u64 = 2, "segments", "[RFC 1122 §4.2.3.2]", |n| *n >= 2, "at least 2";
        /// Longest delay, or period of the fast clock.
        timer: Time = Time(200_000_000), "s", "[RFC 1122 §4.2.3.2]", |t| t.0 > 0, "a time above 0";
        /// End the delay at the next fast tick of the host, as in BSD.
        on_tick: bool = false, "-", "[RFC 1122 §4.2.3.2]";
        /// Segments in order that are acknowledged at once at the start of a connection.
        quick: u64 = 0, "segments", "[linux6 tcp_input.c]";
        /// Do so again after data that has arrived before, and after a time without data in order that is longer than the
        /// timeout which Linux derives from the handshake; only with the form `linux`.
        quick_again: bool = false, "-", "[linux6 tcp_input.c]";
        /// Acknowledge segments at once while the receive window grows, as with the buffers of Linux's defaults; only with
        /// the form `linux`.
        quick_growing: bool = false, "-", "[linux6 tcp_input.c]";
        /// How long an acknowledgement is delayed.
        form: DelayForm = DelayForm::Plain, "-", "[RFC 1122 §4.2.3.2]";
    }
}

/// When the receiver delays its acknowledgements.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DelayedAck {
    /// Every segment is acknowledged at once.
    #[default]
    Off,
    /// One acknowledgement per this many segments, or when the timer expires.
    On(DelayedAckParams),
}

off_or_table!(DelayedAck(DelayedAckParams), "\"off\" or a table { segments = 2, timer = \"200 ms\" }");

params! {
    /// Members of the table that paces a window.
    pub struct PacingParams {
        /// Rate in slow start below half of the threshold, in windows per smoothed round-trip time.
        slow_start_ratio: f64 = 2.0, "-", "[linux6 tcp_input.c]",
            |ratio| *ratio > 0.0 && ratio.is_finite(), "a number above 0";
        /// Rate otherwise, in windows per smoothed round-trip time.
        ratio: f64 = 1.2, "-", "[linux6 tcp_input.c]",
            |ratio| *ratio > 0.0 && ratio.is_finite(), "a number above 0";
        /// Segments at the start of a connection that are not paced.
        unpaced: u64 = 10, "segments", "[linux6 tcp_output.c]";
        /// Segments sent back to back.
        quantum: u64 = 1, "segments", "[linux6 tcp_output.c]", |n| *n >= 1, "at least 1";
        /// A segment that is sent late shortens the next space by the delay, at most to a half.
        forgives: bool = true, "-", "[linux6 tcp_output.c]";
    }
}

/// Whether a congestion control that does not pace by itself is paced.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pacing {
    /// Segments leave as the window allows.
    #[default]
    Off,
    /// They are spaced by a multiple of the window per round-trip time.
    On(PacingParams),
}

off_or_table!(Pacing(PacingParams), "\"off\" or a table { slow_start_ratio = 2.0, ratio = 1.2 }");

params! {
    /// How the application of a receiver reads. The receiver tells a window that is not constant then.
    pub struct Reading {
        /// Rate at which it reads, of payload; what arrives is read at once if not given.
        rate: Option<Rate> = None, "bit/s", "[RFC 9293 §3.8.6]",
            |rate| rate.is_none_or(|rate| rate.0 > 0), "a rate above 0";
        /// The window begins small and grows as with the buffers of Linux's defaults, up to `receive_buffer`.
        autotuning: bool = false, "-", "[linux6 tcp_input.c]";
    }
}

/// Largest window without a scale, to which the first one of a window that grows is bound [linux6 tcp_output.c].
const FIRST_WINDOW: u64 = 65_535;

/// A receive window that grows, at the beginning, in bytes.
pub(crate) fn first_window(mss: u64) -> u64 {
    (FIRST_WINDOW / mss * mss).max(mss)
}

choice! {
    /// Explicit congestion notification of a connection.
    pub enum EcnMode {
        /// Packets are not ECN-capable: congestion drops them.
        Off = "off",
        /// The receiver echoes a mark until the sender reports a window reduction, at most one per window of data
        /// (RFC 3168).
        Classic = "classic",
        /// Each acknowledgement says whether the data that it acknowledges was marked: a change of the mark ends the delay
        /// of an acknowledgement. All data is ECN-capable, retransmissions too (RFC 8257).
        Dctcp = "dctcp",
        /// Acknowledgements count the marked packets and their bytes (AccECN, RFC 9768).
        Accurate = "accurate",
    }
}

params! {
    /// Bytes that headers add on the wire.
    pub struct Headers {
        /// Headers of a data segment.
        data: Bytes = Bytes(52), "bytes", "[RFC 7323 §3]", |h| h.0 <= 1000, "at most 1000 bytes";
        /// Size of an acknowledgement.
        ack: Bytes = Bytes(52), "bytes", "[RFC 7323 §3]",
            |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// Additional size per SACK block.
        sack_block: Bytes = Bytes(8), "bytes", "[RFC 2018 §3]", |size| size.0 <= 100, "at most 100 bytes";
    }
}

/// The window's rules of today: slow start by HyStart++, and growth by what is acknowledged, however many
/// acknowledgements that takes [RFC 9406; RFC 3465].
fn today() -> WindowRules {
    WindowRules {
        slow_start: SlowStartSpec::HyStart(Default::default()),
        grow_per: GrowPer::Segment,
        ..WindowRules::default()
    }
}

params! {
    /// The rules of one TCP connection.
    pub struct TcpParams {
        /// Congestion control, which computes the window.
        congestion: AlgorithmSpec = AlgorithmSpec::Cubic(Default::default()), "-", "[RFC 9438]";
        /// Loss recovery, which selects and times retransmissions.
        recovery: RecoverySpec = RecoverySpec::default(), "-", "[RFC 8985]";
        /// The mechanisms of TCP Vegas that are on.
        mechanisms: Mechanisms = Mechanisms::default(), "-", "[hengartner2000 §VI]";
        /// How the window grows and is reduced.
        window: WindowRules = today(), "-", "[RFC 5681 §3.1]";
        /// Payload of a full segment.
        mss: Bytes = Bytes(1448), "bytes", "[RFC 7323 §3]",
            |mss| (1..=65_495).contains(&mss.0), "a size from 1 to 65495 bytes";
        /// Header sizes on the wire.
        headers: Headers = Headers::default(), "-", "[RFC 1122 §4.2.2.6]";
        /// Initial window. Mechanism G sets it to two segments.
        initial_window: Window = Window::Segments(10.0), "bytes or segments", "[RFC 6928 §2]",
            |w| w.bytes(1 << 16) <= 4e9, "a size from one segment to 60000 segments or 4 GB";
        /// Window after a timeout. Mechanism G sets it to two segments.
        loss_window: Window = Window::Segments(1.0), "bytes or segments", "[RFC 5681 §3.1]",
            |w| !matches!(w, Window::Unlimited), "a size of at least one segment";
        /// Initial slow-start threshold.
        initial_ssthresh: Window = Window::Unlimited, "bytes or segments", "[RFC 5681 §3.1]";
        /// Receive buffer; its size is the advertised window, unless `reading` is given.
        receive_buffer: Window = Window::Bytes(1 << 26), "bytes or segments", "[RFC 7323 §2]";
        /// How the receiving application reads; at once, with a constant window, if not given.
        reading: Option<Reading> = None, "-", "[RFC 9293 §3.8.6]";
        /// Send buffer; limits outstanding data.
        send_buffer: Window = Window::Unlimited, "bytes or segments", "[RFC 1122 §4.2.2.17]";
        /// How the retransmission timeout is computed.
        timer: TimerSpec = TimerSpec::Rfc6298(RfcTimer::default()), "-", "[RFC 6298 §2]";
        /// Request queueing times from routers: data segments and ACKs carry an option of 8 bytes.
        aqt: bool = false, "-", "[chan2004 §3.1]";
        /// Timestamps: every ACK gives a round-trip time sample, including ACKs of retransmissions.
        timestamps: bool = true, "-", "[RFC 7323 §3]";
        /// Space the segments of a window, if the congestion control has no pacing rate of its own.
        pacing: Pacing = Pacing::Off, "-", "[linux6 tcp_output.c]";
        /// Largest pacing rate, of payload (`SO_MAX_PACING_RATE`). It spaces also the segments of a congestion control that
        /// does not pace.
        max_pacing_rate: Option<Rate> = None, "bit/s", "[linux6 tcp_output.c]",
            |rate| rate.is_none_or(|rate| rate.0 > 0), "a rate above 0";
        /// When the receiver delays its acknowledgements.
        delayed_ack: DelayedAck = DelayedAck::On(DelayedAckParams::default()), "-", "[RFC 1122 §4.2.3.2]";
        /// Send new data on the first two duplicate ACKs.
        limited_transmit: bool = true, "-", "[RFC 3042 §2]";
        /// Nagle's algorithm: a partial segment waits while data is outstanding.
        nagle: Nagle = Nagle::On, "-", "[RFC 1122 §4.2.3.4]";
        /// Explicit congestion notification, supported by both ends.
        ecn: EcnMode = EcnMode::Off, "-", "[RFC 3168 §6.1]";
        /// Open with a three-way handshake.
        handshake: bool = true, "-", "[RFC 9293 §3.5]";
        /// Reduce a window that is not used, as `window.validation` says: by default, restart from the initial window after
        /// an idle period of one retransmission timeout.
        idle_restart: bool = true, "-", "[RFC 5681 §4.1]";
        /// A congestion control from outside the registry in place of `congestion`.
        external: Option<External> = None, "-", "-";
    }
}

/// Packet sizes on the wire, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireSizes {
    headers: u32,
    acknowledgement: u32,
    sack_block: u32,
}

impl WireSizes {
    /// Size of a segment with `len` bytes of payload.
    #[inline]
    pub fn segment(&self, len: u32) -> u32 {
        (len + self.headers).max(1)
    }

    /// Size of an acknowledgement with its options.
    #[inline]
    pub fn acknowledgement(&self, sack: &SackBlocks) -> u32 {
        self.acknowledgement + self.sack_block * sack.len() as u32
    }
}

impl TcpParams {
    /// The sizes of its packets on the wire.
    pub fn wire_sizes(&self) -> WireSizes {
        let option = if self.aqt { AQT_OPTION } else { 0 };
        WireSizes {
            headers: self.headers.data.0 as u32 + option,
            acknowledgement: self.headers.ack.0 as u32 + option,
            sack_block: self.headers.sack_block.0 as u32,
        }
    }

    /// The name of its congestion control.
    pub fn control_name(&self) -> &str {
        self.external.as_ref().map_or(self.congestion.name(), |external| &external.spec.name)
    }

    /// The names by which probes record the quantities of its congestion control.
    pub fn probe_names(&self) -> Vec<String> {
        match &self.external {
            Some(external) => external.spec.probes.iter().map(|name| format!("{OWN}{name}")).collect(),
            None => self.congestion.probes().iter().map(|probe| probe.name.to_owned()).collect(),
        }
    }

    /// The receive window at the beginning, in bytes, possibly infinite.
    pub(crate) fn first_window(&self) -> f64 {
        let buffer = self.receive_buffer.bytes(self.mss.0 as u32);
        let grows = self.reading.as_ref().is_some_and(|reading| reading.autotuning);
        if grows { buffer.min(first_window(self.mss.0) as f64) } else { buffer }
    }

    /// True if the receiver delays acknowledgements.
    pub fn delays_acknowledgements(&self) -> bool {
        matches!(self.delayed_ack, DelayedAck::On(_))
    }

    fn validate(&self, node: &Node<'_>) -> Result<(), SpecError> {
        let checks = [
            Self::check_windows,
            Self::check_congestion,
            Self::check_mechanisms,
            Self::check_recovery,
            Self::check_timer,
            Self::check_delay,
        ];
        let refused = checks.into_iter().try_for_each(|check| check(self));
        refused.map_err(|error| SpecError { field: format!("{}.{}", node.path(), error.field), ..error })
    }

    fn check_windows(&self) -> Result<(), SpecError> {
        let mss = self.mss.0 as u32;
        let windows = [
            ("initial_window", self.initial_window),
            ("loss_window", self.loss_window),
            ("receive_buffer", self.receive_buffer),
            ("send_buffer", self.send_buffer),
            ("initial_ssthresh", self.initial_ssthresh),
        ];
        for (name, window) in windows {
            if window.bytes(mss) < f64::from(mss) {
                return Err(refuse(name, window.to_string(), "at least one segment"));
            }
        }
        Ok(())
    }

    fn check_congestion(&self) -> Result<(), SpecError> {
        if self.external.is_some() && self.congestion.name() != "reno" {
            let accepted = "no congestion control of the registry beside `external`";
            return Err(refuse("congestion", format!("\"{}\"", self.congestion.name()), accepted));
        }
        let refuse_member = |table: &str, members: Value, (name, accepted): (&str, &str)| {
            let value = members.get(name).map_or_else(String::new, Value::to_string);
            Err(refuse(&format!("{table}.{name}"), value, accepted))
        };
        if let Some(contradiction) = self.congestion.contradiction() {
            return refuse_member("congestion", self.congestion.encode(), contradiction);
        }
        if let Some(contradiction) = self.window.contradiction(self.congestion.takes_slow_start()) {
            return refuse_member("window", self.window.encode(), contradiction);
        }
        Ok(())
    }

    /// Refuses mechanisms that neither its congestion control nor its recovery implements.
    fn check_mechanisms(&self) -> Result<(), SpecError> {
        let lacking = |among: &str, implemented: &str| -> Vec<&'static str> {
            let is_lacking = |letter: &&str| among.contains(letter) && !implemented.contains(letter);
            self.mechanisms.letters().filter(is_lacking).collect()
        };
        let have =
            |implemented: &str, letters: &[&str]| letters.iter().all(|letter| implemented.contains(letter));
        let of_window = lacking(Mechanisms::OF_WINDOWS, self.congestion.owned_mechanisms());
        if !of_window.is_empty() {
            let owns = |name: &&&str| {
                AlgorithmSpec::named(name).is_some_and(|spec| have(spec.owned_mechanisms(), &of_window))
            };
            let owners: Vec<&str> = AlgorithmSpec::NAMES.iter().filter(owns).copied().collect();
            let accepted = "these mechanisms only with a congestion control that implements them";
            let value = format!("one of {}", of_window.join(", "));
            return Err(refuse("mechanisms", value, &format!("{accepted}: {}", owners.join(", "))));
        }
        let of_recovery = lacking(Mechanisms::OF_RECOVERIES, self.recovery.properties().mechanisms);
        if !of_recovery.is_empty() {
            let carries_out = |name: &&&str| {
                RecoverySpec::named(name).is_some_and(|spec| have(spec.properties().mechanisms, &of_recovery))
            };
            let recoveries: Vec<&str> = RecoverySpec::NAMES.iter().filter(carries_out).copied().collect();
            let accepted = "these mechanisms only with a recovery that implements them";
            let value = format!("{} with the recovery {}", of_recovery.join(", "), self.recovery.name());
            return Err(refuse("mechanisms", value, &format!("{accepted}: {}", recoveries.join(", "))));
        }
        if self.mechanisms.spike_suppression && self.pacing != Pacing::Off {
            return Err(refuse("pacing", "a table".into(), "\"off\": mechanism J sets the pace"));
        }
        if let Some(rate) = self.max_pacing_rate.filter(|_| self.mechanisms.spike_suppression) {
            return Err(refuse("max_pacing_rate", rate.to_string(), "nothing: mechanism J sets the pace"));
        }
        Ok(())
    }

    /// Refuses rules of a receiver of Linux for another one.
    fn check_delay(&self) -> Result<(), SpecError> {
        let DelayedAck::On(delayed) = &self.delayed_ack else { return Ok(()) };
        let accepted = "this only with `form = \"linux\"`";
        let refused = |name: &str| Err(refuse(&format!("delayed_ack.{name}"), "true".into(), accepted));
        match (delayed.form, delayed.on_tick) {
            (DelayForm::Linux, true) => {
                let accepted = "false with `form = \"linux\"`, whose timers have the ticks of `timer`";
                Err(refuse("delayed_ack.on_tick", "true".into(), accepted))
            }
            (DelayForm::Linux, false) => Ok(()),
            (DelayForm::Plain, _) if delayed.quick_again => refused("quick_again"),
            (DelayForm::Plain, _) if delayed.quick_growing => refused("quick_growing"),
            (DelayForm::Plain, _) => Ok(()),
        }
    }

    fn check_recovery(&self) -> Result<(), SpecError> {
        if self.window.reduction_base == ReductionBase::Pipe && !self.recovery.properties().keeps_scoreboard {
            return Err(refuse(
                "window.reduction_base",
                format!(
                    "\"{}\" with the recovery {}",
                    self.window.reduction_base.name(),
                    self.recovery.name()
                ),
                "another rule, or a recovery that computes the pipe from a scoreboard, such as sack",
            ));
        }
        Ok(())
    }

    fn check_timer(&self) -> Result<(), SpecError> {
        match &self.timer {
            TimerSpec::Bsd(bsd) if bsd.max_ticks < bsd.min_ticks => {
                Err(refuse("timer.max_ticks", bsd.max_ticks.to_string(), "at least min_ticks"))
            }
            TimerSpec::Rfc6298(rfc) if rfc.maximum < rfc.minimum || rfc.maximum < rfc.initial => {
                Err(refuse("timer.maximum", rfc.maximum.to_string(), "at least minimum and initial"))
            }
            TimerSpec::Linux(linux) if linux.maximum < linux.minimum || linux.maximum < linux.initial => {
                Err(refuse("timer.maximum", linux.maximum.to_string(), "at least minimum and initial"))
            }
            _ => Ok(()),
        }
    }
}

/// An error that names a field of the table.
fn refuse(field: &str, value: String, accepted: &str) -> SpecError {
    SpecError { field: field.to_owned(), value, accepted: accepted.to_owned(), suggestion: None }
}

/// The `tcp` field of a flow: a variant's name, or a table of parameters over a preset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tcp(pub TcpParams);

impl Tcp {
    /// Names that `variant` accepts under some environment.
    pub fn variants() -> Vec<&'static str> {
        Rules::Classic.variants()
    }

    /// Catalogue entries: what each of these names stands for in each environment, nothing where it has none.
    pub fn presets() -> Value {
        let in_environment = |rules: Rules, name: &str| {
            let params = rules.variant(name)?;
            let letters: String = params.mechanisms.letters().collect();
            Some([
                ("congestion", params.congestion.name().to_owned()),
                ("recovery", params.recovery.name().to_owned()),
                ("slow_start", params.window.slow_start.name().to_owned()),
                ("mechanisms", letters),
            ])
        };
        let of_name = |name: &'static str| {
            let all = Rules::ALL.iter().filter_map(|(rules, _)| Rules::named(rules));
            let found: Vec<_> = all.map(|rules| (rules.name(), in_environment(rules, name))).collect();
            let text = |(rules, parts): &(&str, Option<[(&str, String); 4]>)| {
                let parts = parts.as_ref()?;
                let stated = parts.iter().map(|(_, part)| part.as_str());
                let other = stated.filter(|part| !part.is_empty() && *part != name && *part != "standard");
                Some(format!("{rules}: {}", other.collect::<Vec<_>>().join(" ")))
            };
            let summary: Vec<String> = found.iter().filter_map(text).collect();
            let environments: Members = found
                .into_iter()
                .map(|(rules, parts)| (rules.to_owned(), parts.map_or(Value::Null, Value::from_iter)))
                .collect();
            Value::Object(Members::from_iter([
                ("name".to_owned(), name.into()),
                ("summary".to_owned(), summary.join("; ").into()),
                ("environments".to_owned(), Value::Object(environments)),
            ]))
        };
        Tcp::variants().into_iter().map(of_name).collect()
    }
}

/// Fields that are tables: members given by a scenario override those of the preset.
macro_rules! tables {
    ($($table:ident),+) => {
        const TABLES: &[&str] = &[$(stringify!($table)),+];

        fn lay_over(mut params: TcpParams, node: &Node<'_>) -> Result<TcpParams, SpecError> {
            $(
                if let Some(child) = node.child(stringify!($table)) {
                    params.$table = params.$table.decode_over(&child)?;
                }
            )+
            Ok(params)
        }
    };
}

tables!(congestion, recovery, mechanisms, window, headers, timer, pacing, delayed_ack);

/// The environment of a flow: that of its TCP, or else that of the scenario.
fn environment(node: &Node<'_>) -> Result<Rules, SpecError> {
    let stated = node.child("rules").or_else(|| node.of_root().child("rules"));
    stated.map_or(Ok(Rules::Rfc), |rules| Rules::decode(&rules))
}

/// A variant of an environment. A name that only others have is refused with them.
fn named(rules: Rules, node: &Node<'_>, name: &str) -> Result<TcpParams, SpecError> {
    rules.variant(name).ok_or_else(|| {
        let refused = node.unknown_name(name, &rules.variants());
        let having: Vec<String> =
            Rules::having(name).iter().map(|rules| format!("`{}`", rules.name())).collect();
        if having.is_empty() {
            return refused;
        }
        let accepted = format!("{}; the rules {} have {name}", refused.accepted, having.join(", "));
        SpecError { accepted, suggestion: None, ..refused }
    })
}

/// The preset of a table: its rules, its variant, and the named congestion control and recovery.
fn preset(node: &Node<'_>) -> Result<TcpParams, SpecError> {
    let rules = environment(node)?;
    let variant = node.child("variant");
    let mut params = match &variant {
        Some(variant) => named(rules, variant, &String::decode(variant)?)?,
        None => rules.defaults(),
    };
    if node.child("external").is_some() && variant.is_none() && node.child("congestion").is_none() {
        rules.take_algorithm(&mut params, AlgorithmSpec::Reno(Default::default()), false);
    }
    if let Some(congestion) = node.child("congestion")
        && let Some(name) = spec::tag_of(&congestion, "name")
        && let Some(algorithm) = AlgorithmSpec::named(name)
        && (variant.is_none() || name != params.congestion.name())
    {
        rules.take_algorithm(&mut params, algorithm, variant.is_none());
    }
    if let Some(recovery) = node.child("recovery")
        && let Some(kind) = spec::tag_of(&recovery, "kind")
        && kind != params.recovery.name()
        && let Some(of_kind) = rules.recovery_of_kind(kind)
    {
        params.recovery = of_kind;
    }
    if let Some(hz) = node.child("hz") {
        rules.set_hz(&mut params, &hz)?;
    }
    Ok(params)
}

impl Field for Tcp {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        let params = match node.value() {
            Value::String(name) => named(environment(node)?, node, name)?,
            Value::Object(members) => {
                refuse_unknown_member(node)?;
                let params = lay_over(preset(node)?, node)?;
                let is_plain = |(name, _): &(&String, &Value)| {
                    !TABLES.contains(&name.as_str()) && !WORDS.contains(&name.as_str())
                };
                let plain =
                    members.iter().filter(is_plain).map(|(name, value)| (name.clone(), value.clone()));
                params.overlay(&node.with_value(&Value::Object(plain.collect())))?
            }
            _ => return Err(node.error(Self::accepted())),
        };
        params.validate(node)?;
        Ok(Tcp(params))
    }
    fn encode(&self) -> Value {
        let mut members = self.0.members();
        members.retain(|_, value| !value.is_null());
        Value::Object(members)
    }
    fn accepted() -> String {
        format!("one of {}, or a table with `variant`, `rules` and overrides", Tcp::variants().join(", "))
    }
    fn schema() -> Value {
        let mut extra = Members::new();
        let variants = "A preset of congestion control and recovery, or the name of a congestion control.";
        extra.insert("variant".into(), spec::described(spec::choice_schema(&Tcp::variants()), variants));
        extra.insert(
            "rules".into(),
            spec::described(Rules::schema(), "The environment whose TCP is the default."),
        );
        extra.insert(
            "hz".into(),
            spec::described(
                u64::schema(),
                "Ticks of the kernel's timers in a second, under the rules of Linux: 250.",
            ),
        );
        spec::any_of(vec![
            spec::choice_schema(&Tcp::variants()),
            spec::table_schema(&TcpParams::infos(), extra, &[]),
        ])
    }
}

/// Members of a table that set several parameters at once.
const WORDS: &[&str] = &["rules", "variant", "hz"];

/// Names them beside the parameters when a member is unknown.
fn refuse_unknown_member(node: &Node<'_>) -> Result<(), SpecError> {
    let known = [WORDS, TcpParams::NAMES].concat();
    node.refuse_unknown(&known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_cc::{GrowPer, Growth};
    use serde_json::json;

    /// What a flow states in a scenario that is classic.
    fn parse(value: Value) -> Result<TcpParams, SpecError> {
        let scenario = json!({ "rules": "classic" });
        Tcp::decode(&Node::part(&value, &scenario)).map(|tcp| tcp.0)
    }

    #[test]
    fn a_variant_sets_congestion_control_and_recovery() {
        let vegas = parse(json!("vegas")).unwrap();
        assert_eq!(vegas.recovery.name(), "reno");
        assert!(vegas.mechanisms.growth_guard && !vegas.mechanisms.spike_suppression);
        assert_eq!(parse(json!("tahoe")).unwrap().recovery.name(), "tahoe");
    }

    #[test]
    fn a_named_congestion_control_implies_what_it_needs_in_any_notation() {
        let names = AlgorithmSpec::NAMES.iter().filter(|name| **name != "reno");
        for name in names {
            let variant = parse(json!(name)).unwrap();
            assert_eq!(parse(json!({ "congestion": name })).unwrap(), variant);
            assert_eq!(parse(json!({ "congestion": { "name": name } })).unwrap(), variant);
        }
        // The window of Reno alone does not determine the recovery, which remains that of the environment.
        assert_eq!(parse(json!({ "congestion": "reno" })).unwrap(), Rules::Classic.defaults());
        // A recovery that cannot perform its mechanisms is rejected; without them it is accepted.
        let error = parse(json!({ "congestion": "vegas", "recovery": "sack" })).unwrap_err();
        assert_eq!(
            (error.field.as_str(), error.value.as_str()),
            (".mechanisms", "C, D, E with the recovery sack")
        );
        assert!(parse(json!({ "congestion": "vegas", "recovery": "sack", "mechanisms": "ABF" })).is_ok());
    }

    #[test]
    fn vegas_of_ns2_is_the_released_one() {
        let params = parse(json!({ "variant": "vegas", "rules": "ns2" })).unwrap();
        let AlgorithmSpec::Vegas(vegas) = &params.congestion else { panic!("{:?}", params.congestion) };
        assert_eq!((vegas.fix_timeout, vegas.fix_base_rtt, vegas.fix_invariant), (false, false, false));
        assert!(!params.limited_transmit);
    }

    #[test]
    fn a_partial_table_keeps_the_other_members_of_the_preset() {
        let params =
            parse(json!({ "variant": "vegas", "rules": "ns2", "congestion": { "alpha": 2 } })).unwrap();
        let AlgorithmSpec::Vegas(vegas) = &params.congestion else { panic!("{:?}", params.congestion) };
        assert!((vegas.alpha, vegas.round_diff) == (2.0, true), "{vegas:?}");
        let params = parse(json!({ "rules": "ns2", "timer": { "minimum": "1 s" } })).unwrap();
        let TimerSpec::Rfc6298(timer) = &params.timer else { panic!("{:?}", params.timer) };
        assert_eq!(
            (timer.minimum, timer.initial, timer.scaled_ticks),
            (Time(1_000_000_000), Time(3_000_000_000), true)
        );
        // Another kind begins with its own defaults, and a recovery with those of the environment.
        let params = parse(json!({ "rules": "ns2", "timer": "bsd", "recovery": "newreno" })).unwrap();
        assert_eq!(params.timer.name(), "bsd");
        assert_eq!(params.recovery, Rules::Ns2.variant("newreno").unwrap().recovery);
        let params = parse(json!({ "variant": "vegas", "mechanisms": { "J": true, "A": false } })).unwrap();
        assert_eq!(params.mechanisms.letters().collect::<String>(), "BCDEFGHIJ");
    }

    #[test]
    fn environments_have_the_recoveries_and_options_of_their_age() {
        // BSD is older than RFC 2582.
        for (variant, is_careful) in [("bsd", false), ("classic", true)] {
            let of = |family: &str| parse(json!({ "variant": family, "rules": variant })).unwrap().recovery;
            let RecoverySpec::Tahoe(tahoe) = of("tahoe") else { panic!("{:?}", of("tahoe")) };
            let RecoverySpec::Reno(reno) = of("reno") else { panic!("{:?}", of("reno")) };
            assert_eq!((tahoe.careful_variant, reno.careful_variant), (is_careful, is_careful), "{variant}");
        }
        for (rules, is_modern) in
            [("bsd", false), ("classic", false), ("ns3", true), ("linux", true), ("rfc", true)]
        {
            let params = parse(json!({ "rules": rules })).unwrap();
            assert_eq!((params.handshake, params.timestamps), (is_modern, is_modern), "{rules}");
        }
    }

    #[test]
    fn parameters_of_another_recovery_are_refused() {
        let error = parse(json!({ "recovery": { "kind": "reno", "partial_ack": "impatient" } })).unwrap_err();
        assert_eq!(error.field, "recovery.partial_ack");
        assert!(error.accepted.contains("retransmit_once"), "{}", error.accepted);
        let error = parse(json!({ "variant": "sack", "recovery": { "deflation": "full" } })).unwrap_err();
        assert!(error.accepted.contains("rescue"), "{}", error.accepted);
        assert!(parse(json!({ "recovery": { "kind": "sak" } })).unwrap_err().suggestion.is_some());
    }

    #[test]
    fn every_algorithm_has_a_preset_that_is_accepted_under_all_rules() {
        for name in AlgorithmSpec::NAMES {
            for (rules, _) in Rules::ALL {
                let params = parse(json!({ "variant": name, "rules": rules }));
                let params = params.unwrap_or_else(|error| panic!("{name} under {rules}: {error}"));
                assert_eq!(parse(Tcp(params.clone()).encode()).unwrap(), params);
                let letters: String = params.mechanisms.letters().collect();
                if ["classic", "bsd"].contains(rules) {
                    let recovery = params.congestion.recovery();
                    assert!(recovery.is_none_or(|recovery| recovery == params.recovery.name()));
                    assert_eq!(
                        (params.congestion.name(), letters.as_str()),
                        (*name, params.congestion.mechanisms())
                    );
                }
            }
        }
        assert!(parse(json!("code")).unwrap().mechanisms.quarter_cut);
    }

    #[test]
    fn each_environment_has_its_own_recoveries() {
        let kind = |rules: Rules, variant: &str| Some(rules.variant(variant)?.recovery.name());
        assert_eq!(kind(Rules::Ns2, "sack"), Some("ns2sack"));
        assert_eq!(kind(Rules::Ns2, "vegas"), Some("ns2vegas"));
        assert_eq!(kind(Rules::Ns3, "newreno"), Some("ns3sack"));
        assert_eq!(kind(Rules::Ns3, "vegas"), Some("ns3sack"));
        assert_eq!(Rules::Ns3.variant("vegas").unwrap().congestion.name(), "nsvegas");
        assert_eq!(kind(Rules::Ns3, "tahoe"), None);
        assert_eq!(kind(Rules::Bsd, "sack"), Some("sack"));
        assert_eq!(kind(Rules::Linux, "vegas"), Some("rack"));
        // A congestion control that asks for RACK gets the selective acknowledgements of a simulator that lacks it.
        let of_bbr = [Rules::Classic, Rules::Bsd, Rules::Ns2, Rules::Ns3, Rules::Linux]
            .map(|rules| kind(rules, "bbr"));
        assert_eq!(of_bbr, ["rack", "rack", "ns2sack", "ns3sack", "rack"].map(Some));
        assert_eq!(kind(Rules::Linux, "tahoe"), None);
    }

    #[test]
    fn linux_counts_segments_and_its_programs_keep_fractions() {
        let params = parse(json!({ "rules": "linux" })).unwrap();
        assert_eq!((params.window.growth, params.window.grow_per), (Growth::Segments, GrowPer::Segment));
        assert_eq!(params, parse(json!({ "rules": "linux", "congestion": "reno" })).unwrap());
        let RecoverySpec::NewReno(rules) =
            parse(json!({ "rules": "linux", "recovery": "newreno" })).unwrap().recovery
        else {
            panic!("another recovery")
        };
        assert_eq!(rules.partial_ack.name(), "slow-but-steady");
        let vegas = parse(json!({ "rules": "linux", "congestion": "vegas" })).unwrap();
        let letters: String = vegas.mechanisms.letters().collect();
        assert_eq!(
            (letters.as_str(), vegas.window.growth, vegas.recovery.name()),
            ("ABFI", Growth::Real, "rack")
        );
    }

    #[test]
    fn a_window_mechanism_requires_an_algorithm_that_owns_it() {
        let error = parse(json!({ "variant": "westwood", "mechanisms": "AFG" })).unwrap_err();
        assert_eq!((error.field.as_str(), error.value.as_str()), (".mechanisms", "one of A, F"));
        assert!(error.accepted.ends_with(": vegas, newvegas, vegasa, code, rovegas"), "{}", error.accepted);
        assert!(parse(json!({ "variant": "westwood", "mechanisms": "GHJ" })).is_ok());
    }

    #[test]
    fn sack_blocks_have_a_size() {
        let params = parse(json!({ "variant": "sack", "headers": { "sack_block": "8 bytes" } })).unwrap();
        let mut sack = SackBlocks::default();
        assert_eq!(params.wire_sizes().acknowledgement(&sack), 40);
        (0..2).for_each(|block| sack.push(1000 * block, 500));
        assert_eq!(params.wire_sizes().acknowledgement(&sack), 56);
        assert_eq!(Rules::Classic.defaults().wire_sizes().acknowledgement(&sack), 40);
    }

    #[test]
    fn overrides_take_precedence_and_the_canonical_form_parses_back() {
        let params = parse(json!({
            "variant": "vegas", "rules": "bsd", "mechanisms": "ABC", "mss": "1400 bytes",
            "congestion": { "name": "vegas", "alpha": 2 },
        }))
        .unwrap();
        assert_eq!(params.mss, Bytes(1400));
        assert!(!params.mechanisms.growth_guard);
        assert_eq!(params.window.reduction_base, ReductionBase::WholeWindow);
        assert_eq!(parse(Tcp(params.clone()).encode()).unwrap(), params);
    }

    #[test]
    fn contradictions_name_the_field() {
        let field = |value| parse(value).unwrap_err().field;
        assert_eq!(field(json!({ "congestion": { "name": "vegas", "alpha": 4 } })), ".congestion.alpha");
        assert_eq!(field(json!({ "variant": "reno", "mechanisms": "A" })), ".mechanisms");
        let pipe = json!({ "reduction_base": "pipe" });
        assert_eq!(field(json!({ "variant": "newreno", "window": pipe })), ".window.reduction_base");
        assert_eq!(field(json!({ "recovery": "ns2sack", "window": pipe })), ".window.reduction_base");
        assert!(parse(json!({ "variant": "sack", "window": pipe })).is_ok());
        let hystart = json!({ "slow_start": "hystartpp" });
        assert_eq!(field(json!({ "variant": "vegas", "window": hystart })), ".window.slow_start");
        assert!(parse(json!({ "variant": "westwood", "window": hystart })).is_ok());
        let paced = json!({ "variant": "vegas", "mechanisms": { "J": true }, "pacing": {} });
        assert_eq!(field(paced), ".pacing");
        let capped =
            json!({ "variant": "vegas", "mechanisms": { "J": true }, "max_pacing_rate": "1 Mbit/s" });
        assert_eq!(field(capped), ".max_pacing_rate");
        assert_eq!(field(json!({ "max_pacing_rate": "0 bit/s" })), "max_pacing_rate");
        assert_eq!(Tcp(parse(json!("sack")).unwrap()).encode().get("max_pacing_rate"), None);
        assert_eq!(field(json!({ "pacing": { "ratio": 0 } })), "pacing.ratio");
        assert_eq!(field(json!({ "initial_window": "10 bytes" })), ".initial_window");
        assert_eq!(field(json!({ "initial_windo": "1 segments" })), "initial_windo");
        assert_eq!(field(json!({ "variant": "vegass" })), "variant");
    }
}
