//! Every rule by which TCP implementations differ, as parameters, and the presets that set them.
//!
//! A scenario names a `variant` (congestion control and recovery together) and the `rules` of an
//! environment (the defaults of everything else), then overrides single parameters.

use crate::rtt::{BsdTimer, RfcTimer, TimerSpec};
use crate::segment::SackBlocks;
use dumbbell_cc::{AlgorithmSpec, GrowWhen, Growth, Mechanisms, ReductionBase, SlowStartSpec, WindowRules};
use dumbbell_units::spec::{self, Field, Members, Node, Params, SpecError};
use dumbbell_units::{Bytes, Time, Value, Window, choice, params};

/// Size of the option that asks for queueing times, in bytes [chan2004 §3.1].
const AQT_OPTION: u32 = 8;

choice! {
    /// How lost segments are repaired.
    pub enum Recovery {
        /// Three duplicate ACKs restart from the loss window [jacobson1988 §3].
        Tahoe = "tahoe",
        /// Fast recovery that ends with the first new ACK [RFC 2001 §4].
        Reno = "reno",
        /// Fast recovery that repairs a hole per round trip [RFC 6582 §3.2].
        NewReno = "newreno",
        /// Recovery from a scoreboard of selective acknowledgements [RFC 6675 §5].
        Sack = "sack",
    }
}

choice! {
    /// What a partial acknowledgement does to the retransmission timer [RFC 6582 §4].
    pub enum PartialAck {
        /// The timer restarts at the first partial acknowledgement only.
        Impatient = "impatient",
        /// The timer restarts at every partial acknowledgement.
        SlowButSteady = "slow-but-steady",
    }
}

choice! {
    /// How a recovery with selective acknowledgements knows what is in the network.
    pub enum Pipe {
        /// From the scoreboard: what is neither reported nor lost, and what was sent again [RFC 6675 §4].
        Scoreboard = "scoreboard",
        /// From the scoreboard; but a partial acknowledgement before a segment that was not sent again in this recovery lets
        /// out one whatever that says, as in ns-3: the first lost one, else new data, else the first one.
        Eager = "eager-scoreboard",
        /// By counting from the third duplicate ACK on: a segment less with every ACK, two with a partial one, a segment
        /// more with every one sent; whatever is not reported below the highest report is a hole [fall1996 §4].
        Counted = "counted",
    }
}

choice! {
    /// An environment whose rules are the defaults.
    pub enum Rules {
        /// The RFCs: 5681, 6298, 6582, 6675.
        Rfc = "rfc",
        /// BSD as in the x-kernel's simulator: coarse ticks, whole bytes, no delayed ACK.
        Bsd = "bsd",
        /// The simulator ns-2 with its defaults.
        Ns2 = "ns2",
    }
}

params! {
    /// Members of the table that turns delayed acknowledgements on.
    pub struct DelayedAckParams {
        /// Segments per acknowledgement.
        segments: u64 = 2, "segments", "[RFC 1122 §4.2.3.2]", |n| *n >= 2, "at least 2";
        /// Longest delay, or period of the fast clock.
        timer: Time = Time(200_000_000), "s", "[RFC 1122 §4.2.3.2]", |t| t.0 > 0, "a time above 0";
        /// End the delay with the host's next fast tick, as BSD does.
        on_tick: bool = false, "-", "[RFC 1122 §4.2.3.2]";
    }
}

/// When the receiver delays its acknowledgements.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DelayedAck {
    /// Every segment is acknowledged at once.
    #[default]
    Off,
    /// One acknowledgement for so many segments, or when the timer expires.
    On(DelayedAckParams),
}

impl Field for DelayedAck {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        match node.value() {
            Value::String(text) if text == "off" => Ok(DelayedAck::Off),
            Value::Object(_) => DelayedAckParams::decode(node).map(DelayedAck::On),
            _ => Err(node.error(Self::accepted())),
        }
    }
    fn encode(&self) -> Value {
        match self {
            DelayedAck::Off => Value::from("off"),
            DelayedAck::On(params) => params.encode(),
        }
    }
    fn accepted() -> String {
        "\"off\" or a table { segments = 2, timer = \"200 ms\" }".into()
    }
    fn schema() -> Value {
        spec::any_of(vec![spec::choice_schema(&["off"]), DelayedAckParams::schema()])
    }
}

params! {
    /// The rules of one TCP connection.
    pub struct TcpParams {
        /// Congestion control: how much may be outstanding.
        congestion: AlgorithmSpec = AlgorithmSpec::Reno(Default::default()), "-", "[RFC 5681 §3.1]";
        /// Loss recovery: which segment is sent again, and when.
        recovery: Recovery = Recovery::NewReno, "-", "[RFC 6582 §3.2]";
        /// Payload of a full segment.
        mss: Bytes = Bytes(1460), "bytes", "[RFC 1122 §4.2.2.6]",
            |mss| (1..=65_495).contains(&mss.0), "a size from 1 to 65495 bytes";
        /// Headers on the wire with every data segment.
        header: Bytes = Bytes(40), "bytes", "[RFC 1122 §4.2.2.6]", |h| h.0 <= 1000, "at most 1000 bytes";
        /// Size on the wire of an acknowledgement.
        ack_size: Bytes = Bytes(40), "bytes", "[RFC 1122 §4.2.2.6]",
            |size| (1..=65_535).contains(&size.0), "a size from 1 to 65535 bytes";
        /// What every block of a selective acknowledgement adds to that.
        sack_block: Bytes = Bytes(0), "bytes", "[RFC 2018 §3]", |size| size.0 <= 100, "at most 100 bytes";
        /// Window at the start. Mechanism G makes it two segments.
        initial_window: Window = Window::Segments(2.0), "bytes or segments", "[RFC 5681 §3.1]",
            |w| w.bytes(1 << 16) <= 4e9, "a size from one segment to 60000 segments or 4 GB";
        /// Window after a timeout. Mechanism G makes it two segments.
        loss_window: Window = Window::Segments(1.0), "bytes or segments", "[RFC 5681 §3.1]",
            |w| !matches!(w, Window::Unlimited), "a size of at least one segment";
        /// Slow-start threshold at the start.
        initial_ssthresh: Window = Window::Unlimited, "bytes or segments", "[RFC 5681 §3.1]";
        /// Receive buffer; its size is the advertised window.
        receive_buffer: Window = Window::Bytes(1 << 26), "bytes or segments", "[RFC 7323 §2]";
        /// Send buffer; bounds what is outstanding.
        send_buffer: Window = Window::Unlimited, "bytes or segments", "[RFC 1122 §4.2.2.17]";
        /// How the retransmission timeout is computed.
        timer: TimerSpec = TimerSpec::Rfc6298(RfcTimer::default()), "-", "[RFC 6298 §2]";
        /// Ask routers for the time packets wait: data segments and ACKs carry an option of 8 bytes.
        aqt: bool = false, "-", "[chan2004 §3.1]";
        /// Timestamps: every ACK gives a sample, also of retransmissions.
        timestamps: bool = false, "-", "[RFC 7323 §3]";
        /// When the receiver delays its acknowledgements.
        delayed_ack: DelayedAck = DelayedAck::Off, "-", "[RFC 1122 §4.2.3.2]";
        /// Send new data on the first two duplicate ACKs.
        limited_transmit: bool = true, "-", "[RFC 3042 §2]";
        /// Deflate the window also when recovery ends with exactly three duplicate ACKs.
        deflation_fix: bool = true, "-", "[brakmo1995b §4]";
        /// What a partial acknowledgement does to the retransmission timer.
        partial_ack: PartialAck = PartialAck::Impatient, "-", "[RFC 6582 §4]";
        /// A partial acknowledgement takes what it acknowledges out of the inflation of the window; otherwise
        /// it ends the inflation, as in ns-2 until 2003.
        partial_deflation: bool = true, "-", "[RFC 6582 §3.2]";
        /// A partial acknowledgement beyond the inflation takes the rest from the window for good, as in ns-2; otherwise
        /// the window is its threshold again when the recovery ends.
        lasting_deflation: bool = false, "-", "[RFC 6582 §3.2]";
        /// No fast retransmit by duplicate ACKs of data sent again after a timeout. NewReno and SACK are
        /// always careful.
        careful: bool = true, "-", "[RFC 6582 §4]";
        /// At most one fast retransmit in the data of a window, as Reno in ns-2 has it: none until data is acknowledged that
        /// was sent after the last one.
        retransmit_once: bool = false, "-", "[fall1996 §3]";
        /// A timeout does not end the count of duplicate ACKs, as Tahoe in ns-2 has it: those that are still to come release
        /// no segments.
        timeout_keeps_duplicates: bool = false, "-", "[RFC 3042 §2]";
        /// At most so many segments per ACK while recovering; 0 for no bound.
        recovery_burst: u64 = 0, "segments", "[floyd1999 §3]";
        /// How a recovery with SACK knows what is in the network.
        pipe: Pipe = Pipe::Scoreboard, "-", "[RFC 6675 §4]";
        /// With SACK, send the newest segment again once a recovery when nothing else may be sent.
        rescue: bool = true, "-", "[RFC 6675 §4]";
        /// Open with a three-way handshake.
        handshake: bool = false, "-", "[RFC 9293 §3.5]";
        /// Restart from the initial window after an idle retransmission timeout.
        idle_restart: bool = true, "-", "[RFC 5681 §4.1]";
        /// How the window grows in congestion avoidance.
        window_growth: Growth = Growth::Real, "-", "[RFC 5681 §3.1]";
        /// When the window grows.
        grow_when: GrowWhen = GrowWhen::CwndLimited, "-", "[RFC 7661 §4.4]";
        /// What is halved at a loss.
        halving: ReductionBase = ReductionBase::Flight, "-", "[RFC 5681 §3.1]";
        /// A window equal to its threshold is still in slow start.
        slow_start_at_ssthresh: bool = false, "-", "[RFC 5681 §3.1]";
        /// Add an eighth of a segment per ACK in congestion avoidance, as BSD did until 1994.
        extra_eighth: bool = false, "-", "[RFC 5681 §3.1]";
        /// The switches of TCP Vegas.
        mechanisms: Mechanisms = Mechanisms::default(), "-", "[hengartner2000 §VI]";
        /// Mechanism D checks the second new ACK even if the first check found nothing.
        check_both: bool = false, "-", "[brakmo1995 §3.1]";
        /// Mechanisms C, D and E with the faults of ns-2: D takes a segment that was never sent for late and sends it twice,
        /// times segments on that it sends again, and goes on after a timeout; a fast retransmission backs the coarse timer
        /// off; the loss of a retransmission, or of what was sent at the very start, does not cut the window; after more
        /// than three duplicate ACKs the window is that of the last cut, whatever it has grown by since, and none if that was
        /// a timeout, and only then slow start is over; a timeout halves the window with its inflation.
        faults_of_ns2: bool = false, "-", "[brakmo1995 §3.1]";
    }
}

/// What packets take on the wire, in bytes.
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
    /// The defaults of an environment.
    pub fn of(rules: Rules) -> TcpParams {
        match rules {
            Rules::Rfc => TcpParams::default(),
            Rules::Bsd => TcpParams {
                recovery: Recovery::Reno,
                initial_window: Window::Segments(1.0),
                initial_ssthresh: Window::Bytes(65_536),
                receive_buffer: Window::Bytes(65_536),
                send_buffer: Window::Bytes(65_536),
                timer: TimerSpec::Bsd(BsdTimer::default()),
                limited_transmit: false,
                careful: false,
                window_growth: Growth::Whole,
                grow_when: GrowWhen::Always,
                halving: ReductionBase::WholeWindow,
                slow_start_at_ssthresh: true,
                ..TcpParams::default()
            },
            Rules::Ns2 => TcpParams {
                recovery: Recovery::Reno,
                mss: Bytes(1000),
                initial_ssthresh: Window::Segments(20.0),
                receive_buffer: Window::Segments(20.0),
                timer: TimerSpec::Rfc6298(RfcTimer {
                    granularity: Time(10_000_000),
                    whole_ticks: true,
                    scaled_ticks: false,
                    minimum: Time(200_000_000),
                    maximum: Time(60_000_000_000),
                    initial: Time(3_000_000_000),
                }),
                recovery_burst: 2,
                rescue: false,
                grow_when: GrowWhen::Always,
                halving: ReductionBase::RealWindow,
                ..TcpParams::default()
            },
        }
    }

    /// Congestion control and recovery of a variant; `None` for an unknown name.
    fn with_variant(mut self, name: &str) -> Option<TcpParams> {
        if let Some(recovery) = Recovery::named(name) {
            self.recovery = recovery;
            return Some(self);
        }
        self.congestion = AlgorithmSpec::named(name)?;
        if let Some(recovery) = self.congestion.recovery() {
            self.recovery = Recovery::named(recovery)?;
        }
        self.mechanisms = Mechanisms::from_letters(self.congestion.mechanisms())?;
        self.aqt = self.congestion.asks_queueing();
        Some(self)
    }

    /// What its packets take on the wire.
    pub fn wire_sizes(&self) -> WireSizes {
        let option = if self.aqt { AQT_OPTION } else { 0 };
        WireSizes {
            headers: self.header.0 as u32 + option,
            acknowledgement: self.ack_size.0 as u32 + option,
            sack_block: self.sack_block.0 as u32,
        }
    }

    /// True if the receiver waits before it acknowledges.
    pub fn delays_acknowledgements(&self) -> bool {
        matches!(self.delayed_ack, DelayedAck::On(_))
    }

    /// How the window grows and halves.
    pub fn window_rules(&self) -> WindowRules {
        WindowRules {
            growth: self.window_growth,
            grow_when: self.grow_when,
            reduction_base: self.halving,
            slow_start_at_ssthresh: self.slow_start_at_ssthresh,
            extra_eighth: self.extra_eighth,
            slow_start: SlowStartSpec::default(),
        }
    }

    fn validate(&self, node: &Node<'_>) -> Result<(), SpecError> {
        let mss = self.mss.0 as u32;
        let refuse = |name: &str, value: String, accepted: &str| SpecError {
            field: format!("{}.{name}", node.path()),
            value,
            accepted: accepted.to_owned(),
            suggestion: None,
        };
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
        if let Some((name, accepted)) = self.congestion.contradiction() {
            let members = self.congestion.encode();
            let value = members.get(name).map_or_else(String::new, Value::to_string);
            return Err(refuse(&format!("congestion.{name}"), value, accepted));
        }
        let m = self.mechanisms;
        let owned = self.congestion.owned_mechanisms();
        let ownerless: Vec<&str> = m
            .letters()
            .filter(|letter| Mechanisms::OF_WINDOWS.contains(letter) && !owned.contains(letter))
            .collect();
        if !ownerless.is_empty() {
            let owns = |name: &&&str| {
                AlgorithmSpec::named(name).is_some_and(|spec| {
                    ownerless.iter().all(|letter| spec.owned_mechanisms().contains(letter))
                })
            };
            let owners: Vec<&str> = AlgorithmSpec::NAMES.iter().filter(owns).copied().collect();
            return Err(refuse(
                "mechanisms",
                format!("a switch among {}", ownerless.join(", ")),
                &format!(
                    "these switches only with a congestion control that owns them: {}",
                    owners.join(", ")
                ),
            ));
        }
        let fine = m.fine_retransmit || m.check_after_retransmit || m.one_reduction;
        if fine && self.recovery != Recovery::Reno {
            return Err(refuse(
                "mechanisms",
                "a switch among C, D, E".to_owned(),
                "these switches only with the recovery reno, which they modify",
            ));
        }
        let has_scoreboard = self.recovery == Recovery::Sack && self.pipe != Pipe::Counted;
        if self.halving == ReductionBase::Pipe && !has_scoreboard {
            return Err(refuse(
                "halving",
                self.halving.name().to_owned(),
                "another rule, or the recovery sack with a pipe from its scoreboard",
            ));
        }
        match &self.timer {
            TimerSpec::Bsd(bsd) if bsd.max_ticks < bsd.min_ticks => {
                Err(refuse("timer.max_ticks", bsd.max_ticks.to_string(), "at least min_ticks"))
            }
            TimerSpec::Rfc6298(rfc) if rfc.maximum < rfc.minimum || rfc.maximum < rfc.initial => {
                Err(refuse("timer.maximum", rfc.maximum.to_string(), "at least minimum and initial"))
            }
            _ => Ok(()),
        }
    }
}

/// The `tcp` field of a flow: a variant's name, or a table of parameters over a preset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tcp(pub TcpParams);

impl Tcp {
    /// Names that `variant` accepts.
    pub fn variants() -> Vec<&'static str> {
        let mut names = vec!["tahoe", "reno", "newreno", "sack"];
        names.extend(AlgorithmSpec::NAMES.iter().filter(|name| **name != "reno"));
        names
    }
}

impl Field for Tcp {
    fn decode(node: &Node<'_>) -> Result<Self, SpecError> {
        let names = Tcp::variants();
        let params = match node.value() {
            Value::String(name) => {
                let params = TcpParams::default().with_variant(name);
                params.ok_or_else(|| node.unknown_name(name, &names))?
            }
            Value::Object(members) => {
                let rules = node.child("rules").map(|rules| Rules::decode(&rules)).transpose()?;
                let mut params = TcpParams::of(rules.unwrap_or(Rules::Rfc));
                if let Some(variant) = node.child("variant") {
                    let name = String::decode(&variant)?;
                    params = params.with_variant(&name).ok_or_else(|| variant.unknown_name(&name, &names))?;
                }
                let mut rest: Members = members.clone();
                rest.shift_remove("rules");
                rest.shift_remove("variant");
                let rest = Value::Object(rest);
                refuse_unknown_member(node)?;
                params.overlay(&node.with_value(&rest))?
            }
            _ => return Err(node.error(Self::accepted())),
        };
        params.validate(node)?;
        Ok(Tcp(params))
    }
    fn encode(&self) -> Value {
        Value::Object(self.0.members())
    }
    fn accepted() -> String {
        format!("one of {}, or a table with `variant`, `rules` and overrides", Tcp::variants().join(", "))
    }
    fn schema() -> Value {
        let mut extra = Members::new();
        extra.insert("variant".into(), spec::choice_schema(&Tcp::variants()));
        extra.insert("rules".into(), Rules::schema());
        spec::any_of(vec![
            spec::choice_schema(&Tcp::variants()),
            spec::table_schema(&TcpParams::infos(), extra, &[]),
        ])
    }
}

/// Names `variant` and `rules` beside the parameters when a member is unknown.
fn refuse_unknown_member(node: &Node<'_>) -> Result<(), SpecError> {
    let known = [&["variant", "rules"], TcpParams::NAMES].concat();
    node.refuse_unknown(&known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: Value) -> Result<TcpParams, SpecError> {
        Tcp::decode(&Node::root(&value)).map(|tcp| tcp.0)
    }

    #[test]
    fn a_variant_sets_congestion_control_and_recovery() {
        let vegas = parse(json!("vegas")).unwrap();
        assert_eq!(vegas.recovery, Recovery::Reno);
        assert!(vegas.mechanisms.growth_guard && !vegas.mechanisms.spike_suppression);
        assert_eq!(parse(json!("tahoe")).unwrap().recovery, Recovery::Tahoe);
    }

    #[test]
    fn every_algorithm_brings_a_preset_that_is_accepted_under_all_rules() {
        for name in AlgorithmSpec::NAMES {
            for rules in ["rfc", "bsd", "ns2"] {
                let params = parse(json!({ "variant": name, "rules": rules })).unwrap();
                assert_eq!(params.congestion.name(), *name);
                let recovery = params.congestion.recovery();
                assert!(recovery.is_none_or(|recovery| recovery == params.recovery.name()));
                assert_eq!(params.mechanisms.letters().collect::<String>(), params.congestion.mechanisms());
            }
        }
        assert_eq!(
            parse(json!({ "variant": "westwoodp", "rules": "ns2" })).unwrap().recovery,
            Recovery::NewReno
        );
        assert!(parse(json!("code")).unwrap().mechanisms.quarter_cut);
    }

    #[test]
    fn a_switch_of_the_window_needs_an_owner() {
        let error = parse(json!({ "variant": "westwood", "mechanisms": "AFG" })).unwrap_err();
        assert_eq!((error.field.as_str(), error.value.as_str()), (".mechanisms", "a switch among A, F"));
        assert!(error.accepted.ends_with(": vegas, newvegas, vegasa, code, rovegas"), "{}", error.accepted);
        assert!(parse(json!({ "variant": "westwood", "mechanisms": "GHJ" })).is_ok());
    }

    #[test]
    fn a_block_of_a_selective_acknowledgement_has_a_size() {
        let params = parse(json!({ "variant": "sack", "sack_block": "8 bytes" })).unwrap();
        let mut sack = SackBlocks::default();
        assert_eq!(params.wire_sizes().acknowledgement(&sack), 40);
        (0..2).for_each(|block| sack.push(1000 * block, 500));
        assert_eq!(params.wire_sizes().acknowledgement(&sack), 56);
        assert_eq!(TcpParams::default().wire_sizes().acknowledgement(&sack), 40);
    }

    #[test]
    fn overrides_win_over_rules_and_the_canonical_form_reads_back() {
        let params = parse(json!({
            "variant": "vegas", "rules": "bsd", "mechanisms": "ABC", "mss": "1400 bytes",
            "congestion": { "name": "vegas", "alpha": 2 },
        }))
        .unwrap();
        assert_eq!(params.mss, Bytes(1400));
        assert!(!params.mechanisms.growth_guard);
        assert_eq!(params.halving, ReductionBase::WholeWindow);
        assert_eq!(parse(Tcp(params.clone()).encode()).unwrap(), params);
    }

    #[test]
    fn contradictions_name_the_field() {
        let field = |value| parse(value).unwrap_err().field;
        assert_eq!(field(json!({ "congestion": { "name": "vegas", "alpha": 4 } })), ".congestion.alpha");
        assert_eq!(field(json!({ "variant": "reno", "mechanisms": "A" })), ".mechanisms");
        assert_eq!(field(json!({ "variant": "newreno", "halving": "pipe" })), ".halving");
        assert_eq!(field(json!({ "variant": "sack", "halving": "pipe", "pipe": "counted" })), ".halving");
        assert!(parse(json!({ "variant": "sack", "halving": "pipe" })).is_ok());
        assert_eq!(field(json!({ "initial_window": "10 bytes" })), ".initial_window");
        assert_eq!(field(json!({ "initial_windo": "1 segments" })), "initial_windo");
        assert_eq!(field(json!({ "variant": "vegass" })), "variant");
    }
}
