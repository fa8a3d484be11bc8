//! The sending host of a guest as the host of a script: its application and its network are the script.

use crate::agent::{Answer, Command};
use crate::frames::{self, ETHERNET};
use crate::guest::{SENDER, Start};
use crate::host::{LIMIT, LinuxHost};
use crate::machine::{Machine, Settings};
use dumbbell_script::{Argument, Call, Flags, Host, Outgoing, Script, Segment, Setting, TcpOption};
use dumbbell_units::{Ecn, Time};
use etherparse::{IpNumber, Ipv4Header, Ipv4HeaderSlice, TcpHeader, TcpHeaderSlice, TcpOptionElement};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Addresses of the host and of its peer, see `python/dumbbell/kernel/agent.c`.
const HOST: [u8; 4] = [10, 0, 0, 1];
const PEER: [u8; 4] = [10, 0, 0, 2];

/// Port at which the host listens or to which it connects, and that from which its peer connects.
const SERVER_PORT: u16 = 8080;
const CLIENT_PORT: u16 = 40_000;

/// Largest IP packet of the device, in bytes.
const MTU: u32 = 1500;

/// Settings of all scripts: nothing is remembered of earlier connections, and a buffer takes what is written.
const SETTINGS: [(&str, &str); 3] = [
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 8388608 16777216"),
];

/// Numbers of the system calls of the agent.
#[derive(Clone, Copy)]
enum Number {
    Socket,
    Bind,
    Listen,
    Accept,
    Connect,
    Set,
    Write,
    Read,
    Shutdown,
    Close,
    Info,
}

/// Levels and names of options of sockets (`include/uapi/asm-generic/socket.h`, `include/uapi/linux/tcp.h`).
const LEVELS: [(&str, u64); 5] =
    [("SOL_SOCKET", 1), ("IPPROTO_TCP", 6), ("SOL_TCP", 6), ("IPPROTO_IP", 0), ("SOL_IP", 0)];
const OPTIONS: [(&str, u64); 14] = [
    ("SO_REUSEADDR", 2),
    ("SO_SNDBUF", 7),
    ("SO_RCVBUF", 8),
    ("SO_MAX_PACING_RATE", 47),
    ("IP_TOS", 1),
    ("IP_MTU_DISCOVER", 10),
    ("TCP_NODELAY", 1),
    ("TCP_MAXSEG", 2),
    ("TCP_CORK", 3),
    ("TCP_QUICKACK", 12),
    ("TCP_CONGESTION", 13),
    ("TCP_USER_TIMEOUT", 18),
    ("TCP_NOTSENT_LOWAT", 25),
    ("TCP_DEFER_ACCEPT", 9),
];

/// Directions that `shutdown` names.
const DIRECTIONS: [(&str, u64); 3] = [("SHUT_RD", 0), ("SHUT_WR", 1), ("SHUT_RDWR", 2)];

/// Calls without an effect here: sockets never block.
const WITHOUT_EFFECT: [&str; 3] = ["fcntl", "poll", "getsockopt"];

/// A kernel under test. See the [module](self).
#[derive(Debug)]
pub struct ScriptHost {
    machine: Machine,
    /// Descriptors of the guest, by those of the script.
    descriptors: BTreeMap<i64, u16>,
    /// Descriptor of the connection.
    connection: Option<u16>,
    sent: VecDeque<Outgoing>,
    now: Time,
    /// Ports of the host and of its peer.
    ports: (u16, u16),
    /// Number of the host's SYN; that of its peer is 0.
    first: Option<u32>,
    /// When the host sent its first timestamp, and its value.
    first_timestamp: Option<(Time, u32)>,
    /// A timestamp of the script, and what it is in the guest.
    timestamp: Option<(u64, u32)>,
}

impl ScriptHost {
    /// A guest of this kernel with the settings of a script.
    ///
    /// # Errors
    ///
    /// It could not be started, or the script says something that it cannot be told.
    pub fn start(start: &Start<'_>, script: &Script) -> Result<Self, String> {
        let settings = script.settings()?;
        let sysctl = SETTINGS.to_vec();
        let mut machine =
            Machine::start(start, &Settings { sysctl, module: None, mtu: MTU }, &BTreeSet::new())?;
        for setting in &settings {
            obey(&mut machine, setting)?;
        }
        let is_active = script.is_active();
        Ok(ScriptHost {
            machine,
            descriptors: BTreeMap::new(),
            connection: None,
            sent: VecDeque::new(),
            now: Time::ZERO,
            ports: if is_active { (CLIENT_PORT, SERVER_PORT) } else { (SERVER_PORT, CLIENT_PORT) },
            first: None,
            first_timestamp: None,
            timestamp: None,
        })
    }

    /// The same on a kernel of the user's cache.
    ///
    /// # Errors
    ///
    /// As [`ScriptHost::start`]; or there is no such kernel.
    pub fn on(tree: &str, script: &Script) -> Result<Self, String> {
        let kernels = LinuxHost::user().kernels();
        let kernel = kernels.iter().find(|kernel| kernel.is(tree));
        let kernel =
            kernel.ok_or_else(|| format!("no kernel {tree} is built: run `dumbbell kernel build {tree}`"))?;
        ScriptHost::start(&Start { kernel: kernel.as_ref(), seed: 1, limit: LIMIT }, script)
    }

    /// Does something at a time, and takes what the host sends then.
    fn at(&mut self, now: Time, act: impl FnOnce(&mut Machine) -> Result<(), String>) {
        self.now = self.now.max(now);
        self.machine.at(self.now, act);
        while let Some((device, frame)) = self.machine.poll_frame() {
            if device == SENDER
                && let Some(segment) = self.read(&frame)
            {
                self.sent.push_back(Outgoing { at: self.now, segment });
            }
        }
    }

    /// Lets the time pass until just before `until`.
    fn run_before(&mut self, until: Time) {
        while self.machine.next_deadline() < until {
            self.at(self.machine.next_deadline(), Machine::run);
        }
    }

    /// A system call at a time: what it returns.
    fn system_call(&mut self, now: Time, number: Number, command: Command<'_>) -> Result<Answer, String> {
        self.run_before(now);
        let mut answer = None;
        let command = Command { kind: b'X', detail: number as u8, ..command };
        self.at(now, |machine| {
            machine.command(&command)?;
            answer = Some(machine.await_answer(b'X')?);
            Ok(())
        });
        let failure = || self.machine.failure().unwrap_or_default();
        answer.ok_or_else(failure)
    }

    /// The segment in a frame, with numbers that count from the SYN of each side.
    fn read(&mut self, frame: &[u8]) -> Option<Segment> {
        let packet = frames::packet_in(frame)?;
        let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let rest = packet.get(ip.slice().len()..usize::from(ip.total_len()))?;
        let tcp = TcpHeaderSlice::from_slice(rest).ok()?;
        if tcp.syn() {
            self.first = Some(tcp.sequence_number());
            self.ports.0 = tcp.source_port();
        }
        let first = self.first?;
        let options: Vec<TcpOption> =
            tcp.options_iterator().filter_map(|option| option_of(option.ok()?)).collect();
        let segment = Segment {
            flags: Flags {
                syn: tcp.syn(),
                fin: tcp.fin(),
                rst: tcp.rst(),
                psh: tcp.psh(),
                ack: tcp.ack(),
                ece: tcp.ece(),
                cwr: tcp.cwr(),
            },
            ecn: Some(frames::ecn_of(packet[1])),
            seq: tcp.sequence_number().wrapping_sub(first).into(),
            len: (rest.len() - tcp.slice().len()) as u64,
            ack: tcp.ack().then(|| tcp.acknowledgment_number().into()),
            window: Some(tcp.window_size().into()),
            options: Some(options),
        };
        if let Some((value, _)) = segment.timestamps() {
            self.first_timestamp.get_or_insert((self.now, value as u32));
        }
        Some(segment)
    }

    /// The packet of a segment that arrives.
    fn packet(&self, segment: &Segment) -> Result<Vec<u8>, String> {
        let Flags { syn, fin, rst, psh, ack, ece, cwr } = segment.flags;
        let first = self.first.unwrap_or(0);
        let mut tcp = TcpHeader::new(
            self.ports.1,
            self.ports.0,
            segment.seq as u32,
            segment.window.unwrap_or(0).min(u64::from(u16::MAX)) as u16,
        );
        (tcp.syn, tcp.fin, tcp.rst, tcp.psh, tcp.ack, tcp.ece, tcp.cwr) = (syn, fin, rst, psh, ack, ece, cwr);
        tcp.acknowledgment_number = segment.ack.map_or(0, |number| first.wrapping_add(number as u32));
        let mut options = Vec::new();
        for option in segment.options.iter().flatten() {
            options.extend(self.element(option)?);
        }
        tcp.set_options(&options).map_err(|error| format!("options of a segment: {error}"))?;
        let payload = vec![0; segment.len as usize];
        let length = tcp.header_len() + payload.len();
        let mut ip = Ipv4Header::new(length.min(65_515) as u16, 64, IpNumber::TCP, PEER, HOST)
            .map_err(|error| format!("a segment that arrives: {error}"))?;
        ip.dont_fragment = true;
        ip.header_checksum = ip.calc_header_checksum();
        tcp.checksum = tcp
            .calc_checksum_ipv4_raw(PEER, HOST, &payload)
            .map_err(|error| format!("a segment that arrives: {error}"))?;
        let mut packet = [ip.to_bytes().as_slice(), tcp.to_bytes().as_slice(), &payload].concat();
        frames::set_ecn(&mut packet, segment.ecn.unwrap_or(Ecn::NotEct));
        Ok(packet)
    }

    /// An option of a segment that arrives, in the numbers of the guest.
    fn element(&self, option: &TcpOption) -> Result<Option<TcpOptionElement>, String> {
        let number = |at: u64| self.first.unwrap_or(0).wrapping_add(at as u32);
        Ok(Some(match option {
            TcpOption::Mss(mss) => TcpOptionElement::MaximumSegmentSize(*mss as u16),
            TcpOption::SackPermitted => TcpOptionElement::SelectiveAcknowledgementPermitted,
            TcpOption::WindowScale(scale) => TcpOptionElement::WindowScale(*scale as u8),
            TcpOption::Nop => TcpOptionElement::Noop,
            TcpOption::End => return Ok(None),
            TcpOption::Timestamps(value, echo) => {
                TcpOptionElement::Timestamp(*value as u32, self.echoed(*echo)?)
            }
            TcpOption::Sack(blocks) => {
                let mut blocks = blocks.iter().map(|(from, to)| (number(*from), number(*to)));
                let newest = blocks.next().ok_or("SACK without a block")?;
                TcpOptionElement::SelectiveAcknowledgement(newest, std::array::from_fn(|_| blocks.next()))
            }
        }))
    }

    /// A timestamp of the script in the clock of the guest.
    fn echoed(&self, echo: u64) -> Result<u32, String> {
        match self.timestamp {
            Some((value, is)) => Ok(is.wrapping_add((echo as u32).wrapping_sub(value as u32))),
            None if self.first.is_none() => Ok(echo as u32),
            None => Err("an echo of a timestamp that no segment before states".into()),
        }
    }

    /// The descriptor that a call names first.
    fn descriptor(&self, call: &Call) -> Result<u16, String> {
        let Some(Argument::Number(number)) = call.arguments.first() else {
            return Err(format!("{} without a descriptor", call.name));
        };
        let known = self.descriptors.get(number).copied();
        known.ok_or_else(|| format!("{} of a descriptor that nothing has returned", call.name))
    }

    /// A call that returns a descriptor, which the script knows by the number that it expects.
    fn open(&mut self, now: Time, number: Number, command: Command<'_>, call: &Call) -> Result<i64, String> {
        let answer = self.system_call(now, number, command)?.number.cast_signed();
        let Ok(descriptor) = u16::try_from(answer) else { return Ok(-1) };
        if let Some(expected) = call.result {
            self.descriptors.insert(expected, descriptor);
        }
        self.connection = Some(descriptor);
        Ok(call.result.unwrap_or(answer))
    }
}

/// Sets something.
fn obey(machine: &mut Machine, setting: &Setting) -> Result<(), String> {
    match setting {
        Setting::Sysctl { name, value, may_fail } => {
            let text = [format!("net/ipv4/{name}").as_bytes(), b"\0", value.as_bytes()].concat();
            let problem = format!("the kernel does not accept {name} = {value}");
            let set = machine.order(&Command { kind: b'Y', text: &text, ..Command::default() }, &problem);
            if *may_fail && machine.failure().is_none() { Ok(()) } else { set }
        }
        // The device of the guest has no queue of its own.
        Setting::Queue(queue) if queue == "pfifo" => Ok(()),
        // All mechanisms, which is the default.
        Setting::Parameter(module, name, value)
            if (module.as_str(), name.as_str(), value.as_str()) == ("tcp_cubic", "hystart_detect", "3") =>
        {
            Ok(())
        }
        Setting::Queue(_) | Setting::Parameter(..) => Err(setting.to_string()),
        Setting::SegmentsAtOnce(count) => {
            let problem = format!("the device of the guest does not take {count} segments at once");
            machine.order(&Command { kind: b'D', number: u64::from(*count), ..Command::default() }, &problem)
        }
    }
}

/// Bytes of the value of an option.
fn value_of(argument: Option<&Argument>) -> Result<Vec<u8>, String> {
    match argument {
        Some(Argument::Number(number)) => Ok((*number as i32).to_le_bytes().to_vec()),
        Some(Argument::Text(text)) => Ok(text.as_bytes().to_vec()),
        Some(Argument::List(values)) => value_of(values.first()),
        Some(Argument::Name(name)) if name == "IP_PMTUDISC_DONT" => Ok(0_i32.to_le_bytes().to_vec()),
        _ => Err("setsockopt with a value that is neither a number nor a text".into()),
    }
}

/// A number by its name.
fn named(table: &[(&str, u64)], argument: Option<&Argument>) -> Result<u64, String> {
    match argument {
        Some(Argument::Number(number)) => Ok(number.unsigned_abs()),
        Some(Argument::Name(name)) => table
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("the name {name}")),
        _ => Err("a call without the name of what it sets".into()),
    }
}

fn option_of(element: TcpOptionElement) -> Option<TcpOption> {
    Some(match element {
        TcpOptionElement::Noop => return None,
        TcpOptionElement::MaximumSegmentSize(mss) => TcpOption::Mss(mss.into()),
        TcpOptionElement::WindowScale(scale) => TcpOption::WindowScale(scale.into()),
        TcpOptionElement::SelectiveAcknowledgementPermitted => TcpOption::SackPermitted,
        TcpOptionElement::Timestamp(value, echo) => TcpOption::Timestamps(value.into(), echo.into()),
        TcpOptionElement::SelectiveAcknowledgement(newest, rest) => {
            let blocks = std::iter::once(newest).chain(rest.into_iter().flatten());
            TcpOption::Sack(blocks.map(|(from, to)| (from.into(), to.into())).collect())
        }
    })
}

impl Host for ScriptHost {
    fn call(&mut self, now: Time, call: &Call) -> Result<Option<i64>, String> {
        let stated = |at: usize| match call.arguments.get(at) {
            Some(Argument::Number(number)) => Ok(number.unsigned_abs()),
            _ => Err(format!("{} without a number", call.name)),
        };
        let name = call.name.as_str();
        if name == "socket" {
            return self.open(now, Number::Socket, Command::default(), call).map(Some);
        }
        if WITHOUT_EFFECT.contains(&name) {
            return Ok(None);
        }
        let ports = (self.descriptor(call)?, SERVER_PORT);
        let plain = Command { ports, ..Command::default() };
        let (number, command) = match name {
            "accept" => return self.open(now, Number::Accept, plain, call).map(Some),
            "bind" => (Number::Bind, plain),
            "listen" => (Number::Listen, Command { number: stated(1)?, ..plain }),
            "connect" => (Number::Connect, plain),
            "write" | "send" | "read" | "recv" if call.arguments.get(1) != Some(&Argument::Any) => {
                return Err(format!("{name} with a buffer of its own"));
            }
            "send" | "recv" if call.arguments.get(3).is_some_and(|flags| *flags != Argument::Number(0)) => {
                return Err(format!("{name} with flags"));
            }
            "write" | "send" => (Number::Write, Command { number: stated(2)?, ..plain }),
            "read" | "recv" => (Number::Read, Command { number: stated(2)?, ..plain }),
            "shutdown" => {
                (Number::Shutdown, Command { number: named(&DIRECTIONS, call.arguments.get(1))?, ..plain })
            }
            "close" => (Number::Close, plain),
            "setsockopt" => {
                let level = named(&LEVELS, call.arguments.get(1))?;
                let option = named(&OPTIONS, call.arguments.get(2))?;
                let text = value_of(call.arguments.get(3))?;
                let ports = (ports.0, text.len() as u16);
                let command = Command { number: level << 32 | option, ports, text: &text, ..plain };
                let answer = self.system_call(now, Number::Set, command)?.number.cast_signed();
                return Ok(Some(answer.max(-1)));
            }
            _ => return Err(format!("the call {name}")),
        };
        let answer = self.system_call(now, number, command)?.number.cast_signed();
        Ok(Some(answer.max(-1)))
    }

    fn deliver(&mut self, now: Time, segment: &Segment) -> Result<(), String> {
        if segment.flags.syn && segment.seq > 0 {
            return Err("a SYN with another number than 0".into());
        }
        let packet = self.packet(segment)?;
        if packet.len() > MTU as usize {
            return Err(format!("a packet of {} bytes that arrives, where {MTU} are the most", packet.len()));
        }
        let mut frame = Vec::with_capacity(packet.len() + ETHERNET);
        frames::begin_ip(&mut frame, self.machine.guest().mac(SENDER));
        frame.extend(packet);
        self.run_before(now);
        self.at(now, |machine| machine.deliver(SENDER, &frame));
        self.machine.failure().map_or(Ok(()), Err)
    }

    fn next_outgoing(&mut self, until: Time) -> Option<Outgoing> {
        while self.sent.is_empty() && self.machine.next_deadline() <= until {
            self.at(self.machine.next_deadline(), Machine::run);
        }
        self.sent.pop_front()
    }

    fn field(&mut self, now: Time, name: &str) -> Option<i64> {
        let command = Command { ports: (self.connection?, 0), ..Command::default() };
        self.system_call(now, Number::Info, command).ok()?.field(name)
    }

    fn set(&mut self, now: Time, setting: &Setting) -> Result<(), String> {
        self.run_before(now);
        self.at(now, |machine| obey(machine, setting));
        self.machine.failure().map_or(Ok(()), Err)
    }

    fn on_timestamp(&mut self, value: u64, sent: Time) {
        let Some((first, is)) = self.first_timestamp else { return };
        let milliseconds = (sent.0 / 1_000_000).saturating_sub(first.0 / 1_000_000);
        self.timestamp.get_or_insert((value, is.wrapping_add(milliseconds as u32)));
    }

    fn is_real(&self) -> bool {
        true
    }
}
