//! The host of the simulator: its sender and its receiver at one end of a connection.
//!
//! Which options both ends have follows from the script: they are those of the SYN that arrives. The receive window of the
//! other end is that of the first segment after it, unless another one states a different window.

use crate::ending::Ending;
use crate::play::{Host, Outgoing};
use crate::script::{Argument, Call, Flags, Script, Segment, TcpOption};
use crate::shell::Setting;
use dumbbell_tcp::config::{EcnMode, Nagle, Reading};
use dumbbell_tcp::{AckSegment, DataSegment, HostClock, Receiver, SackBlocks, Sender, Tcp, TcpParams};
use dumbbell_units::spec::{Field, Node};
use dumbbell_units::{Bytes, Ecn, Stream, Time, Value};
use serde_json::json;
use std::collections::VecDeque;

/// Bytes of a segment that timestamps take.
const TIMESTAMP_BYTES: u64 = 12;
/// Largest shift of the window [RFC 7323 §2.3].
const MOST_SCALE: u64 = 14;
/// Most bytes of a segment that arrives: those of a packet of 1500 bytes.
const LONGEST: u64 = 1460;
/// The threshold in `TCP_INFO` before it is known.
const INFINITE_THRESHOLD: i64 = 0x7fff_ffff;
/// Clock of the timers: ticks of Linux are counted from 300 s before the machine starts (`INITIAL_JIFFIES`), which is a second
/// before the script begins.
const CLOCK: HostClock = HostClock::At(Time(299_000_000_000));
/// Seed of what the congestion control draws: BBR first cruises in the phase that the kernel of a script draws too.
const DRAWS: u64 = 0;
/// Calls without an effect on segments.
const WITHOUT_EFFECT: [&str; 5] = ["bind", "listen", "getsockopt", "fcntl", "poll"];
/// Options of sockets without an effect on segments: a write takes all.
const OPTIONS_WITHOUT_EFFECT: [&str; 6] =
    ["SO_REUSEADDR", "SO_SNDBUF", "SO_RCVBUF", "IP_TOS", "IP_MTU_DISCOVER", "TCP_NOTSENT_LOWAT"];
/// Settings without an effect on what is modelled, with the values of which this is true.
const SETTINGS_WITHOUT_EFFECT: [(&str, &[&str]); 26] = [
    ("tcp_ecn_fallback", &[]),
    ("tcp_ecn_option", &[]),
    ("tcp_mem", &[]),
    ("tcp_rmem", &[]),
    ("tcp_wmem", &[]),
    ("tcp_min_tso_segs", &[]),
    ("tcp_tso_win_divisor", &[]),
    ("tcp_no_metrics_save", &[]),
    ("tcp_syn_linear_timeouts", &[]),
    ("tcp_syn_retries", &[]),
    ("tcp_synack_retries", &[]),
    ("tcp_syncookies", &[]),
    ("tcp_fack", &[]),
    ("tcp_fastopen", &[]),
    ("tcp_fastopen_key", &[]),
    ("tcp_notsent_lowat", &[]),
    // The segment that arrives says what both ends have.
    ("tcp_sack", &[]),
    ("tcp_timestamps", &[]),
    ("tcp_dsack", &["1"]),
    ("tcp_recovery", &["1"]),
    ("tcp_reordering", &["3"]),
    ("tcp_early_retrans", &["3", "4"]),
    ("tcp_frto", &["1", "2"]),
    ("tcp_mtu_probing", &["0"]),
    ("tcp_pacing_ss_ratio", &["200"]),
    ("tcp_pacing_ca_ratio", &["120"]),
];

/// One end of a connection.
pub struct Simulator {
    params: TcpParams,
    /// The application connects, rather than accepting a connection.
    is_active: bool,
    /// Both ends have ECN.
    has_ecn: bool,
    sender: Option<Sender>,
    receiver: Receiver,
    now: Time,
    sent: VecDeque<Outgoing>,
    is_open: bool,
    /// When the connection was requested, and how long the answer took to be acknowledged.
    requested: Time,
    answer_took: Time,
    /// A timestamp of the script, and the time that it stands for.
    timestamp: Option<(u64, Time)>,
    written: u64,
    /// The largest segment that its SYN offers.
    advertised: u64,
    /// Bytes that the application has read.
    read: u64,
    ending: Ending,
    /// The shift of windows that arrive, unless they are all the same.
    scale: Option<u64>,
}

/// What the segment with SYN that arrives says.
struct Offer {
    mss: u64,
    scale: u64,
    has_timestamps: bool,
    has_sack: bool,
    has_ecn: bool,
}

impl Offer {
    fn of(syn: &Segment) -> Self {
        Offer {
            mss: syn
                .option(|option| if let TcpOption::Mss(mss) = option { Some(*mss) } else { None })
                .unwrap_or(536),
            scale: syn
                .option(|option| if let TcpOption::WindowScale(scale) = option { Some(*scale) } else { None })
                .map_or(0, |scale| scale.min(MOST_SCALE)),
            has_timestamps: syn.timestamps().is_some(),
            has_sack: syn.option(|option| (*option == TcpOption::SackPermitted).then_some(())).is_some(),
            has_ecn: syn.flags.ece && (syn.flags.cwr || syn.flags.ack),
        }
    }
}

impl Simulator {
    /// The host for a script, with the TCP that its commands and segments ask for.
    ///
    /// # Errors
    ///
    /// What cannot be expressed.
    pub fn new(script: &Script) -> Result<Self, String> {
        Simulator::with(script, json!({ "rules": "linux", "congestion": "cubic", "hz": 1000 }))
    }

    /// The same with other rules of TCP than those of Linux.
    ///
    /// # Errors
    ///
    /// What cannot be expressed.
    pub fn with(script: &Script, mut tcp: Value) -> Result<Self, String> {
        let syn = script
            .arriving()
            .find(|segment| segment.flags.syn)
            .ok_or("a connection without a SYN that arrives")?;
        let offer = Offer::of(syn);
        if let Some(refusal) = Ending::refusal(script) {
            return Err(refusal.into());
        }
        let mut windows =
            script.arriving().filter(|segment| !segment.flags.syn).filter_map(|segment| segment.window);
        // A host that asks knows the window from the answer, unless nothing follows.
        let first = windows.next().map(|window| window << offer.scale).or(syn.window);
        let window = first.ok_or("a connection without a window")?;
        let are_equal = windows.all(|other| other << offer.scale == window);
        let mss = offer.mss.saturating_sub(if offer.has_timestamps { TIMESTAMP_BYTES } else { 0 });
        let (has_ecn, segments_at_once) = obey(&mut tcp, script, &offer)?;
        if tcp["congestion"] == "bbr"
            && let Some(count) = segments_at_once
        {
            tcp["congestion"] = json!({ "name": "bbr", "burst_segments": count });
        }
        tcp["mss"] = json!(format!("{mss} bytes"));
        tcp["timestamps"] = json!(offer.has_timestamps);
        tcp["receive_buffer"] = json!(format!("{} bytes", window.max(mss)));
        if !offer.has_sack {
            tcp["recovery"] = json!("newreno");
        }
        let mut params = Tcp::decode(&Node::root(&tcp)).map_err(|error| error.to_string())?.0;
        params.ecn = match params.ecn {
            _ if !has_ecn => EcnMode::Off,
            EcnMode::Off => EcnMode::Classic,
            // What the congestion control asks for.
            feedback => feedback,
        };
        let mut receiver = Receiver::new(&params, CLOCK);
        receiver.stand_alone();
        params.reading = (!are_equal).then(Reading::default);
        Ok(Simulator {
            receiver,
            params,
            is_active: syn.flags.ack,
            has_ecn,
            sender: None,
            now: Time::ZERO,
            sent: VecDeque::new(),
            is_open: false,
            requested: Time::ZERO,
            answer_took: Time::ZERO,
            timestamp: None,
            written: 0,
            advertised: LONGEST,
            read: 0,
            ending: Ending::default(),
            scale: (!are_equal).then_some(offer.scale),
        })
    }

    /// Lets the time pass.
    fn run_until(&mut self, until: Time) {
        while let Some(at) = self.next_deadline().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.expire();
        }
        self.now = self.now.max(until);
    }

    fn next_deadline(&self) -> Option<Time> {
        let of_sender = self.sender.as_ref().map_or(Time::NEVER, Sender::next_deadline);
        let all = of_sender.min(self.receiver.next_deadline());
        Some(all).filter(|at| *at < Time::NEVER && !self.ending.is_gone)
    }

    fn expire(&mut self) {
        if let Some(ack) = self.receiver.on_deadline(self.now) {
            self.send_ack(&ack);
        }
        if let Some(sender) = &mut self.sender
            && sender.next_deadline() <= self.now
        {
            sender.on_deadline(self.now);
        }
        self.transmit();
    }

    /// Sends what the sender has.
    fn transmit(&mut self) {
        while let Some(segment) = self.sender.as_mut().and_then(|sender| sender.poll_transmit(self.now)) {
            let outgoing = if segment.is_syn { self.syn() } else { self.data(&segment) };
            self.sent.push_back(Outgoing { at: self.now, segment: outgoing });
        }
        let Some(sender) = &self.sender else { return };
        let (sent, info) = (sender.snd_max(), sender.tcp_info());
        let in_flight = info.unacked + info.retrans - (info.sacked + info.lost).min(info.unacked);
        let has_room = (in_flight + 1) as f64 * f64::from(sender.mss()) <= sender.cwnd();
        if self.ending.is_due(sent, self.written, has_room) {
            let mut segment = self.data(&DataSegment::new(sent, 0));
            segment.flags.fin = true;
            self.sent.push_back(Outgoing { at: self.now, segment });
        }
    }

    fn syn(&self) -> Segment {
        let is_answer = !self.is_active;
        let flags = Flags {
            syn: true,
            ack: is_answer,
            ece: self.has_ecn,
            cwr: self.has_ecn && !is_answer,
            ..Flags::default()
        };
        Segment { flags, ack: is_answer.then_some(1), ..Segment::default() }
    }

    fn data(&mut self, segment: &DataSegment) -> Segment {
        let len = u64::from(segment.len);
        let fin = len > 0 && self.ending.rides(segment.seq + len, self.written);
        Segment {
            flags: Flags { ack: true, cwr: segment.is_cwr, fin, ..Flags::default() },
            ecn: Some(segment.ecn),
            seq: segment.seq + 1,
            len,
            ack: Some(self.receiver.rcv_nxt() + 1 + self.ending.numbers().1),
            options: Some(Vec::new()),
            window: None,
        }
    }

    fn send_ack(&mut self, ack: &AckSegment) {
        let duplicate = ack.sack.duplicate(ack.ack);
        let blocks = duplicate.into_iter().chain(ack.sack.ranges(ack.ack));
        let blocks: Vec<(u64, u64)> = blocks.map(|(from, to)| (from + 1, to + 1)).collect();
        let options = if blocks.is_empty() { Vec::new() } else { vec![TcpOption::Sack(blocks)] };
        let segment = Segment {
            flags: Flags { ack: true, ece: ack.is_ece, ..Flags::default() },
            ecn: Some(Ecn::NotEct),
            seq: self.sender.as_ref().map_or(0, Sender::snd_max) + 1 + self.ending.numbers().0,
            ack: Some(ack.ack + 1 + self.ending.numbers().1),
            options: Some(options),
            ..Segment::default()
        };
        self.sent.push_back(Outgoing { at: self.now, segment });
    }

    /// The connection begins: the sender asks for it, or answers.
    fn open(&mut self) {
        let random = Stream::new(DRAWS, 0, "script");
        self.sender = Some(Sender::new(&self.params, CLOCK, self.now, random));
        self.transmit();
    }

    /// Data arrives. For the receiver, it was sent as the acknowledgement that it echoes arrived at the other end, which took
    /// as long as the answer to the request.
    fn on_payload(&mut self, segment: &Segment, echoed: Time) {
        let data = DataSegment {
            ecn: segment.ecn.unwrap_or(Ecn::NotEct),
            is_cwr: segment.flags.cwr,
            ..DataSegment::new(segment.seq - 1, segment.len as u32)
        };
        let before = self.receiver.acknowledge_before(data.ecn);
        let answer = self.receiver.on_segment(self.now, &data, echoed + self.answer_took, Time::ZERO);
        for ack in before.into_iter().chain(answer) {
            self.send_ack(&ack);
        }
    }

    /// The time that a timestamp echoes.
    fn echoed(&self, segment: &Segment) -> Result<Time, String> {
        let Some((_, echo)) = segment.timestamps() else { return Ok(self.now) };
        let (value, at) = self.timestamp.ok_or("an echo of a timestamp that no segment before states")?;
        let milliseconds = echo.cast_signed() - value.cast_signed();
        let nanoseconds = at.0.cast_signed() + milliseconds * 1_000_000;
        Ok(Time(nanoseconds.max(0).cast_unsigned()))
    }

    fn on_acknowledgement(&mut self, segment: &Segment, ack: u64) -> Result<(), String> {
        let timestamp_echo = self.echoed(segment)?;
        let Some(sender) = &mut self.sender else { return Ok(()) };
        let is_over = self.ending.numbers().0 == 1 && sender.snd_una() == self.written;
        let ack = ack.min(self.written + 1);
        if is_over {
            return Ok(());
        }
        let (is_news, is_plain) = (ack - 1 > sender.snd_una(), segment.len > 0 && segment.sack().is_empty());
        if is_plain && !is_news && self.scale.is_none() {
            return Ok(());
        }
        let mut sack = SackBlocks::default();
        for (number, &(from, to)) in segment.sack().iter().enumerate() {
            let is_inside = segment.sack().get(1).is_some_and(|second| second.0 <= from && to <= second.1);
            if number == 0 && (from < ack || is_inside) {
                sack.push_duplicate(ack - 1, from - 1, (to - from) as u32);
            } else if from > ack {
                sack.push((from - ack) as u32, (to - from) as u32);
            }
        }
        let ack = AckSegment { timestamp_echo, sack, is_ece: segment.flags.ece, ..AckSegment::of(ack - 1) };
        match (self.scale, segment.window) {
            (Some(scale), Some(window)) => {
                sender.on_ack_with_window(self.now, &ack, Time::ZERO, ack.ack + (window << scale));
            }
            _ => sender.on_ack(self.now, &ack, Time::ZERO),
        }
        Ok(())
    }

    /// The application reads what has arrived in order, up to so many bytes.
    fn read(&mut self, now: Time, most: u64) -> i64 {
        let bytes = most.min(self.receiver.rcv_nxt() - self.read);
        self.read += bytes;
        if let Some(ack) = self.receiver.on_read(now, most) {
            self.send_ack(&ack);
        }
        let would_block = bytes == 0 && !self.ending.has_arrived && !self.ending.is_deaf;
        if would_block { -1 } else { bytes.cast_signed() }
    }

    /// The application closes one or both directions.
    fn finish(&mut self, call: &Call) -> Result<(), String> {
        let what = match call.arguments.get(1) {
            _ if call.name == "close" => "SHUT_RDWR",
            Some(Argument::Name(name)) => name.as_str(),
            _ => return Err("shutdown without a direction".into()),
        };
        if call.name == "close" && (!self.is_open || self.read < self.receiver.rcv_nxt()) {
            self.give_up();
            return Ok(());
        }
        if !self.is_open {
            return Err(format!("{} before the connection", call.name));
        }
        self.ending.is_deaf |= what != "SHUT_WR";
        if what != "SHUT_RD" && !self.ending.is_asked {
            self.ending.is_asked = true;
            self.sender.iter_mut().for_each(Sender::finish);
            self.transmit();
        }
        Ok(())
    }

    /// The largest segment in both directions (`TCP_MAXSEG`), including options.
    fn bound_mss(&mut self, call: &Call) -> Result<(), String> {
        let Some(Argument::List(values)) = call.arguments.get(3) else {
            return Err("TCP_MAXSEG without a number".into());
        };
        let [Argument::Number(most)] = values[..] else { return Err("TCP_MAXSEG without a number".into()) };
        let options = if self.params.timestamps { TIMESTAMP_BYTES } else { 0 };
        self.advertised = most.unsigned_abs().min(LONGEST);
        self.params.mss = Bytes(self.params.mss.0.min(self.advertised.saturating_sub(options).max(1)));
        Ok(())
    }

    /// The connection ends at once: with a reset if the application has not read everything (`tcp_close`).
    fn give_up(&mut self) {
        if let Some(sender) = self.sender.take().filter(|_| self.is_open) {
            let mut segment = self.data(&DataSegment::new(sender.snd_max(), 0));
            segment.flags.rst = true;
            self.sent.push_back(Outgoing { at: self.now, segment });
        }
        self.ending.is_gone = true;
    }

    /// An option of a socket.
    fn set_option(&mut self, call: &Call) -> Result<(), String> {
        let Some(Argument::Name(name)) = call.arguments.get(2) else {
            return Err("setsockopt without a name".into());
        };
        match name.as_str() {
            name if OPTIONS_WITHOUT_EFFECT.contains(&name) => {}
            "TCP_NODELAY" if self.sender.is_none() => self.params.nagle = Nagle::Off,
            "TCP_MAXSEG" if self.sender.is_none() => self.bound_mss(call)?,
            name => return Err(format!("setsockopt of {name}")),
        }
        Ok(())
    }

    fn write(&mut self, call: &Call) -> Result<Option<i64>, String> {
        let Some(Argument::Number(bytes)) = call.arguments.get(2) else {
            return Err(format!("{} without a number of bytes", call.name));
        };
        if call.arguments.get(3).is_some_and(|flags| *flags != Argument::Number(0)) {
            return Err(format!("{} with flags", call.name));
        }
        if self.ending.is_asked {
            return Ok(Some(-1));
        }
        if call.result.is_some_and(|result| result != *bytes) {
            return Err(format!("{} that returns something else than the number of bytes", call.name));
        }
        let sender = self.sender.as_mut().ok_or("data before the connection")?;
        sender.write(bytes.unsigned_abs());
        self.written += bytes.unsigned_abs();
        self.transmit();
        Ok(Some(*bytes))
    }
}

/// Sets what the commands of a script say. Whether both ends have ECN, and the most segments at once for the device.
fn obey(tcp: &mut Value, script: &Script, offer: &Offer) -> Result<(bool, Option<u32>), String> {
    let (mut has_ecn, mut segments_at_once) = (offer.has_ecn, None);
    for setting in script.settings()? {
        match setting {
            // With 2, the host does not ask for it.
            Setting::Sysctl { name, value, .. } if name == "tcp_ecn" => {
                has_ecn = offer.has_ecn && (value == "1" || value == "2" && !script.is_active());
            }
            Setting::Sysctl { name, value, .. } => set(tcp, &name, &value)?,
            Setting::SegmentsAtOnce(count) => segments_at_once = Some(count),
            Setting::Queue(queue) if queue == "pfifo" => {}
            // All mechanisms, which is the default.
            Setting::Parameter(module, name, value)
                if (module.as_str(), name.as_str(), value.as_str())
                    == ("tcp_cubic", "hystart_detect", "3") => {}
            other => return Err(other.to_string()),
        }
    }
    Ok((has_ecn, segments_at_once))
}

fn set(tcp: &mut Value, name: &str, value: &str) -> Result<(), String> {
    match (name, value) {
        // What Linux calls Westwood is its Westwood+, and its Vegas has none of the mechanisms of ours.
        ("tcp_congestion_control", "westwood") => tcp["congestion"] = json!("westwoodl"),
        ("tcp_congestion_control", "vegas") => tcp["congestion"] = json!("vegasl"),
        ("tcp_congestion_control", control) => tcp["congestion"] = json!(control),
        ("tcp_slow_start_after_idle", value) => tcp["idle_restart"] = json!(value != "0"),
        ("tcp_early_retrans", "0" | "1" | "2") => tcp["recovery"] = json!({ "kind": "rack", "tlp": false }),
        _ if SETTINGS_WITHOUT_EFFECT
            .iter()
            .any(|(known, values)| *known == name && (values.is_empty() || values.contains(&value))) => {}
        _ => return Err(format!("the setting {name}={value}")),
    }
    Ok(())
}

impl Host for Simulator {
    fn call(&mut self, now: Time, call: &Call) -> Result<Option<i64>, String> {
        self.run_until(now);
        match call.name.as_str() {
            "accept" if !self.is_open => Ok(Some(-1)),
            // Any number may be free.
            "socket" | "accept" => Ok(None),
            "connect" if self.sender.is_some() => Ok(Some(if self.is_open { 0 } else { -1 })),
            "connect" if self.is_active => {
                self.open();
                Ok(None)
            }
            "write" | "send" => self.write(call),
            "read" | "recv" => {
                let most = match call.arguments.get(2) {
                    Some(Argument::Number(bytes)) => bytes.unsigned_abs(),
                    _ => u64::MAX,
                };
                Ok(Some(self.read(now, most)))
            }
            "setsockopt" => self.set_option(call).map(|()| None),
            name if WITHOUT_EFFECT.contains(&name) => Ok(None),
            "close" | "shutdown" => self.finish(call).map(|()| None),
            name => Err(format!("the call {name}")),
        }
    }

    fn deliver(&mut self, now: Time, segment: &Segment) -> Result<(), String> {
        self.run_until(now);
        if segment.flags == Flags::default() {
            return Err("a segment without flags".into());
        }
        if self.ending.is_gone {
            self.sent.push_back(Outgoing { at: now, segment: Ending::answer(segment)? });
            return Ok(());
        }
        if segment.flags.rst {
            return Err("a reset".into());
        }
        if segment.len > LONGEST {
            return Err(format!(
                "a segment of {} bytes that arrives, where {LONGEST} are the most",
                segment.len
            ));
        }
        if segment.flags.syn && segment.seq > 0 {
            return Err("a SYN with another number than 0".into());
        }
        if segment.flags.syn && !segment.flags.ack {
            self.requested = now;
            self.receiver.on_segment(
                now,
                &DataSegment { is_syn: true, ..DataSegment::new(0, 0) },
                now,
                Time::ZERO,
            );
            self.open();
            return Ok(());
        }
        let sender = self.sender.as_mut().ok_or("a segment before the connection")?;
        let sent = sender.snd_max() + 1 + self.ending.numbers().0;
        if self.is_open && segment.ack.is_none_or(|ack| ack > sent) {
            // It acknowledges nothing, or what was never sent (`tcp_ack`, `tcp_rcv_established`).
            return Ok(());
        }
        let timestamp_echo = self.echoed(segment)?;
        let sender = self.sender.as_mut().ok_or("a segment before the connection")?;
        if !self.is_open {
            self.is_open = true;
            self.answer_took = now - self.requested;
            let ack = AckSegment { is_syn: true, timestamp_echo, ..AckSegment::of(0) };
            sender.on_ack(now, &ack, Time::ZERO);
            self.receiver.on_established(now);
            if segment.flags.syn {
                self.send_ack(&AckSegment::of(0));
            }
        } else if let Some(ack) = segment.ack.filter(|ack| *ack > 0) {
            self.on_acknowledgement(segment, ack)?;
        }
        if segment.len > 0 {
            self.on_payload(segment, timestamp_echo);
        }
        if segment.flags.fin {
            let next = self.receiver.rcv_nxt();
            self.ending.on_fin(segment, next)?;
            self.send_ack(&AckSegment::of(next));
        }
        self.transmit();
        Ok(())
    }

    fn next_outgoing(&mut self, until: Time) -> Option<Outgoing> {
        while self.sent.is_empty()
            && let Some(at) = self.next_deadline().filter(|at| *at <= until)
        {
            self.now = self.now.max(at);
            self.expire();
        }
        self.sent.pop_front()
    }

    fn field(&mut self, now: Time, name: &str) -> Option<i64> {
        self.run_until(now);
        let sender = self.sender.as_ref()?;
        let mss = f64::from(sender.mss());
        let segments =
            |bytes: f64| if bytes.is_finite() { (bytes / mss).floor() as i64 } else { INFINITE_THRESHOLD };
        let stats = sender.stats();
        Some(match name {
            "tcpi_snd_cwnd" => segments(sender.cwnd()),
            "tcpi_snd_ssthresh" => segments(sender.congestion().ssthresh()),
            "tcpi_rtt" => (sender.srtt()? * 1e6) as i64,
            "tcpi_rto" => (sender.rto().0 / 1000).cast_signed(),
            "tcpi_total_retrans" => stats.segments_retransmitted.cast_signed(),
            "tcpi_ca_state" => i64::from(sender.tcp_info().ca_state),
            "tcpi_unacked" => sender.tcp_info().unacked.cast_signed(),
            "tcpi_sacked" => sender.tcp_info().sacked.cast_signed(),
            "tcpi_lost" => sender.tcp_info().lost.cast_signed(),
            "tcpi_retrans" => sender.tcp_info().retrans.cast_signed(),
            "tcpi_reordering" => sender.tcp_info().reordering.0.cast_signed(),
            "tcpi_reord_seen" => sender.tcp_info().reordering.1.cast_signed(),
            "tcpi_advmss" if self.params.timestamps => (self.advertised - TIMESTAMP_BYTES).cast_signed(),
            "tcpi_advmss" => self.advertised.cast_signed(),
            "tcpi_snd_mss" => i64::from(sender.mss()),
            _ => return None,
        })
    }

    fn set(&mut self, _now: Time, setting: &Setting) -> Result<(), String> {
        Err(format!("{setting} during the connection"))
    }

    fn on_timestamp(&mut self, value: u64, sent: Time) {
        self.timestamp.get_or_insert((value, sent));
    }

    fn is_real(&self) -> bool {
        false
    }
}
