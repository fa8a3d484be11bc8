//! The twins behave as their algorithms: the same events go through both, and windows, thresholds and probes are
//! compared. The twins are compiled for user space (`bpf/native`), so this needs a C compiler and the headers of Linux,
//! but neither the feature `kernel` nor root.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_macros, reason = "a skipped test says so")]

use dumbbell_bpf::{Parameter, Scale, Twin};
use dumbbell_cc::{
    Ack, Algorithm, AlgorithmSpec, Congestion, Context, Mechanisms, Queueing, RecoveryExit, ReductionBase,
    Setup, Signal, Undo, WindowRules,
};
use dumbbell_units::spec::{Field, Members, Node};
use dumbbell_units::{Stream, Time, Value};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

/// Payload of a segment, in bytes.
const MSS: u64 = 1448;

/// Sequence number of the first byte, so that the numbers wrap in each test.
const FIRST: u32 = u32::MAX - 100_000;

/// The threshold of the stack before a loss.
const NO_SSTHRESH: u32 = 0x7fff_ffff;

/// What a twin prints after an event.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    /// Window and threshold of the stack, in segments.
    cwnd: u32,
    ssthresh: u32,
    /// Window with its fraction, in segments.
    window: f64,
    probes: Vec<Option<f64>>,
}

/// The program that drives a twin, compiled once; `None`, with a sentence, if there is no compiler.
fn driver(twin: Twin) -> Option<PathBuf> {
    static BUILT: OnceLock<Mutex<BTreeMap<&'static str, Option<PathBuf>>>> = OnceLock::new();
    let mut built = BUILT.get_or_init(Mutex::default).lock().expect("no other test panicked here");
    built.entry(twin.name()).or_insert_with(|| compile(twin)).clone()
}

fn compile(twin: Twin) -> Option<PathBuf> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    if Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
    {
        eprintln!("SKIPPED: comparing {} with its algorithm needs a C compiler", twin.name());
        return None;
    }
    if !Path::new("/usr/include/linux/bpf.h").exists() {
        eprintln!("SKIPPED: comparing {} with its algorithm needs the headers of Linux", twin.name());
        return None;
    }
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf").canonicalize().expect("the folder bpf");
    // Checkouts may share one target folder, and their tests may run at the same time.
    let mut hasher = DefaultHasher::new();
    (bpf.as_os_str(), twin.text()).hash(&mut hasher);
    let program =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{:016x}", twin.name(), hasher.finish()));
    let built = program.with_extension(std::process::id().to_string());
    let output = Command::new(&compiler)
        // Parameters have names that functions of the C library have, too.
        .args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-fno-builtin"])
        .arg("-I")
        .arg(bpf.join("native"))
        .arg(format!("-DTWIN=\"{}\"", bpf.join(format!("{}.bpf.c", twin.name())).display()))
        .arg(bpf.join("native/drive.c"))
        .arg("-o")
        .arg(&built)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(built, &program).expect("the program can be renamed");
    Some(program)
}

/// What the twin shows after each event of a script; `None` without a compiler.
fn drive(twin: Twin, script: &[String]) -> Option<Vec<Shown>> {
    let program = driver(twin)?;
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the driver starts");
    let mut input = child.stdin.take().expect("a pipe");
    let text = script.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the driver ends");
    writer.join().expect("the writer ends").expect("the driver reads everything");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let scales: Vec<Scale> = twin.probes().into_iter().map(|probe| probe.scale).collect();
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(|line| shown(line, &scales)).collect())
}

fn shown(line: &str, scales: &[Scale]) -> Shown {
    let numbers: Vec<i64> = line.split(' ').map(|number| number.parse().expect("a number")).collect();
    let probe = |(number, scale): (&i64, &Scale)| (*number != i64::MIN).then(|| scale.real(*number));
    Shown {
        cwnd: u32::try_from(numbers[0]).expect("a window"),
        ssthresh: u32::try_from(numbers[1]).expect("a threshold"),
        window: numbers[2] as f64 / f64::from(1 << 24),
        probes: numbers[3..].iter().zip(scales).map(probe).collect(),
    }
}

/// One setting of a parameter of a twin.
type Setting = (Parameter, i64);

fn commands(settings: &[Setting]) -> impl Iterator<Item = String> {
    settings.iter().map(|(parameter, number)| format!("parameter {} {number}", parameter.name))
}

/// What the algorithm says after an event, if the stack does not set the window itself.
#[derive(Clone, Debug)]
struct Expected {
    is_comparable: bool,
    /// The event was an ACK, with which a twin reports its probes.
    is_ack: bool,
    cwnd: f64,
    ssthresh: f64,
    probes: Vec<Option<f64>>,
}

/// A segment in flight: the byte after it, when it was sent, when its ACK arrives, and what routers report.
#[derive(Clone, Copy, Debug)]
struct Flying {
    end: u64,
    sent: u64,
    acked: u64,
    queueing: Option<(u64, u64)>,
}

/// An algorithm as the sender at one queue, and the script of what happens to it. Times are in microseconds.
struct World {
    algorithm: Algorithm,
    loss_window: f64,
    random: Stream,
    now: u64,
    una: u64,
    nxt: u64,
    delivered: u64,
    flying: VecDeque<Flying>,
    busy_until: u64,
    last_ack: u64,
    service: u64,
    propagation: u64,
    reports_queueing: bool,
    /// The application has nothing to send until everything is acknowledged, and for a while after.
    is_pausing: bool,
    /// The byte that ends a recovery, and what it reacts to.
    recovery: Option<(u64, Signal)>,
    before: (f64, f64),
    script: Vec<String>,
    expected: Vec<Expected>,
}

impl World {
    fn new(twin: Twin, settings: &[Setting], seed: u64) -> World {
        let mut table = Members::from_iter([("name".to_owned(), Value::from(twin.name()))]);
        let mut letters = String::new();
        for parameter in twin.parameters() {
            let set = settings.iter().find(|(known, _)| known.name == parameter.name);
            let number = set.map_or(parameter.default, |(_, number)| *number);
            match &parameter.mechanism {
                Some(letter) if number != 0 => letters.push_str(letter),
                Some(_) => {}
                None => drop(table.insert(parameter.name.clone(), parameter.scale.value(number))),
            }
        }
        let spec = AlgorithmSpec::decode(&Node::root(&Value::Object(table))).expect("accepted parameters");
        let mut random = Stream::new(seed, 0, "world");
        let initial = if letters.contains('G') { 2 } else { 10 };
        let now = 1_000_000;
        let rules = WindowRules { reduction_base: ReductionBase::WholeWindow, ..WindowRules::default() };
        let setup = Setup::new(Time(now * 1000), MSS as f64, (initial * MSS) as f64)
            .with_rules(rules)
            .with_mechanisms(Mechanisms::from_letters(&letters).expect("known letters"));
        let mut draw = |least: u64, most: u64| least + (random.uniform() * (most - least) as f64) as u64;
        let (service, propagation) = (draw(200, 3000), draw(5_000, 60_000));
        let mut world = World {
            algorithm: Algorithm::new(&spec, &setup),
            loss_window: if letters.contains('G') { 2.0 } else { 1.0 } * MSS as f64,
            random,
            now,
            una: 0,
            nxt: 0,
            delivered: 0,
            flying: VecDeque::new(),
            busy_until: now,
            last_ack: now,
            service,
            propagation,
            reports_queueing: spec.asks_queueing(),
            is_pausing: false,
            recovery: None,
            before: (0.0, 0.0),
            script: commands(settings).collect(),
            expected: Vec::new(),
        };
        // The kernel tells of its handshake, which the algorithm does not hear.
        world.script.push(format!("handshake {now} {}", propagation / 2));
        world.tell(format!("init {now} {MSS} {FIRST} {FIRST} 10 {NO_SSTHRESH}"));
        world.send();
        world
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random.uniform() < probability
    }

    fn tell(&mut self, event: String) {
        let probes = (0..self.algorithm.probes().len()).map(|index| self.algorithm.probe(index)).collect();
        self.expected.push(Expected {
            is_ack: event.starts_with("ack"),
            is_comparable: self.recovery.is_none_or(|(_, signal)| signal == Signal::Timeout),
            cwnd: self.algorithm.cwnd() / MSS as f64,
            ssthresh: self.algorithm.ssthresh() / MSS as f64,
            probes,
        });
        self.script.push(event);
    }

    fn context(&self) -> Context {
        Context::new(Time(self.now * 1000), MSS as f64)
            .with_sent(self.una, self.nxt)
            .with_loss_window(self.loss_window)
    }

    fn send(&mut self) {
        if self.is_pausing && !self.flying.is_empty() {
            return;
        }
        if self.is_pausing {
            self.is_pausing = false;
            self.now += (self.random.uniform() * 5e6) as u64;
        }
        while ((self.nxt - self.una + MSS) as f64) <= self.algorithm.cwnd() {
            let start = self.busy_until.max(self.now);
            self.busy_until = start + self.service;
            let backward = if self.chance(0.3) { (self.random.uniform() * 2000.0) as u64 } else { 0 };
            let arrival = (self.busy_until + self.propagation + backward).max(self.last_ack + 1);
            self.last_ack = arrival;
            self.nxt += MSS;
            // A router that reports sees the whole wait, also behind ACKs ahead.
            let backward = arrival - self.busy_until - self.propagation;
            let queueing =
                (self.reports_queueing && self.chance(0.9)).then_some((start - self.now, backward));
            self.flying.push_back(Flying { end: self.nxt, sent: self.now, acked: arrival, queueing });
        }
    }

    /// The next `segments` are acknowledged at once; the round-trip time is that of the last, if it has one.
    fn acknowledge(&mut self, segments: u64, has_rtt: bool, is_limited: bool) {
        let last = self.flying[segments as usize - 1];
        self.now = self.now.max(last.acked);
        self.delivered += 1;
        let (rtt, queueing) =
            if has_rtt { (Some(self.now - last.sent), last.queueing) } else { (None, None) };
        // The ACK that ends a recovery counts as one after it, on both sides.
        let ended = self.recovery.take_if(|(high, _)| last.end >= *high).map(|(_, signal)| signal);
        let in_recovery = self.recovery.is_some_and(|(_, signal)| signal != Signal::Timeout);
        if ended == Some(Signal::FastRetransmit) {
            self.algorithm.on_recovery_exit(&self.context(), &RecoveryExit::new(0.0));
        }
        let recovery = match ended {
            Some(Signal::FastRetransmit | Signal::EcnEcho) => 2,
            _ => i32::from(in_recovery),
        };
        let ack = Ack::new(last.end, segments * MSS)
            .with_rtt(rtt.map(|rtt| Time(rtt * 1000)))
            .with_queueing(queueing.map(|(forward, backward)| Queueing {
                forward: Time(forward * 1000),
                backward: Time(backward * 1000),
            }))
            .with_cwnd_limited(is_limited)
            .with_recovery(in_recovery);
        let context = self.context();
        self.algorithm.on_ack(&context, &ack);
        // The option carries the time of the ACK itself, and then the time that it returns.
        let (backward, forward) =
            queueing.map_or((-1, -1), |(forward, backward)| (backward as i64, forward as i64));
        self.tell(format!(
            "ack {} {} {} {segments} {} {} {} {} {backward} {forward}",
            self.now,
            sequence(last.end),
            sequence(self.nxt),
            rtt.map_or(-1, |rtt| rtt as i64),
            i32::from(is_limited),
            self.delivered,
            recovery,
        ));
        self.una = last.end;
        self.flying.drain(..segments as usize);
        if ended == Some(Signal::Timeout) {
            self.tell("open".to_owned());
        }
        self.send();
    }

    fn react(&mut self, signal: Signal) {
        self.before = (self.algorithm.cwnd(), self.algorithm.ssthresh());
        let context = self.context();
        self.algorithm.on_congestion(&context, &Congestion::new(signal));
        self.recovery = Some((self.nxt, signal));
        let state = match signal {
            Signal::EcnEcho => 2,
            Signal::FastRetransmit => 3,
            Signal::Timeout => 4,
            other => panic!("the stack has no {other:?}"),
        };
        self.tell(format!("react {} {state}", self.now));
    }

    /// The oldest segment is lost, and `after` segments behind it arrive before its retransmission.
    fn lose(&mut self, after: u64) {
        for index in 1..=after {
            self.now = self.now.max(self.flying[index as usize].acked);
            self.delivered += 1;
            let context = self.context();
            self.algorithm.on_duplicate_ack(|| (context, Ack::new(0, 0)));
            self.tell(format!("duplicate {} {}", self.now, self.delivered));
            if index == 3 {
                self.react(Signal::FastRetransmit);
            }
        }
        self.now += self.propagation;
        self.acknowledge(after + 1, false, true);
    }

    fn undo(&mut self) {
        let Some((_, signal)) = self.recovery.take() else { return };
        let undo = Undo::new(signal, self.before.0, self.before.1);
        self.algorithm.on_undo(&self.context(), &undo);
        self.tell("undo".to_owned());
    }

    /// A few thousand ACKs with all that happens to a connection.
    fn live(&mut self, acks: usize, losses: f64) {
        let mut is_limited = true;
        for _ in 0..acks {
            if self.chance(0.002) {
                is_limited = !is_limited;
            }
            self.is_pausing |= self.chance(0.001);
            let is_open = self.recovery.is_none();
            let flight = self.flying.len() as u64;
            if is_open && flight >= 6 && self.chance(losses) {
                let after = 3 + (self.random.uniform() * (flight.min(9) - 4) as f64) as u64;
                self.lose(after);
            } else if is_open && self.chance(losses / 4.0) {
                self.react(Signal::Timeout);
            } else if is_open && self.chance(losses / 4.0) {
                self.react(Signal::EcnEcho);
            } else if self.recovery.is_some_and(|(_, signal)| signal != Signal::EcnEcho) && self.chance(0.01)
            {
                self.undo();
            } else {
                self.acknowledge(1, true, is_limited);
            }
        }
    }
}

fn sequence(byte: u64) -> u32 {
    FIRST.wrapping_add(byte as u32)
}

/// The largest and the mean distance between twin and algorithm where they can be compared, in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Distance {
    events: usize,
    window_sum: f64,
    window_most: f64,
    /// Events after which thresholds are further apart than by rounding.
    ssthresh_apart: usize,
    /// ACKs after which the thresholds of the difference are.
    alpha_apart: usize,
}

impl Distance {
    fn add(&mut self, shown: &Shown, expected: &Expected) {
        // A window that the stack has set since has no fraction yet.
        let has_fraction = shown.window.floor() == f64::from(shown.cwnd);
        let window = if has_fraction { shown.window } else { f64::from(shown.cwnd) };
        let apart = (window - expected.cwnd).abs();
        self.events += 1;
        self.window_sum += apart;
        self.window_most = self.window_most.max(apart);
        let is_unset = shown.ssthresh == NO_SSTHRESH && expected.ssthresh.is_infinite();
        let apart = (f64::from(shown.ssthresh) - expected.ssthresh).abs();
        self.ssthresh_apart += usize::from(!is_unset && apart > SSTHRESH_BOUND);
    }

    fn window_mean(&self) -> f64 {
        self.window_sum / self.events as f64
    }

    fn alpha_share(&self) -> f64 {
        self.alpha_apart as f64 / self.events as f64
    }

    fn ssthresh_share(&self) -> f64 {
        self.ssthresh_apart as f64 / self.events as f64
    }
}

/// True if the values of a probe agree up to the scale, or differ because the windows may, or their rounding.
fn is_probe_close(name: &str, shown: f64, expected: f64, is_coarse: bool) -> bool {
    let tolerance = match name {
        "base_rtt" => 1.5e-6,
        "vegas_diff" if is_coarse => 2.0,
        // Whole microseconds in the mean of a round, whole bytes, and whole thousandths of a segment.
        "vegas_diff" => 0.005,
        "bandwidth" => 1e-3 * expected + 8000.0,
        other => panic!("{other} has no tolerance"),
    };
    (shown - expected).abs() <= tolerance
}

/// The defaults, and each parameter at other values.
fn variations(twin: Twin) -> Vec<Vec<Setting>> {
    let parameters = twin.parameters();
    let mut variations = vec![Vec::new()];
    for parameter in &parameters {
        let others: Vec<i64> = match parameter.scale {
            Scale::Choice(_) | Scale::Flag => (parameter.least..=parameter.most).collect(),
            _ if parameter.default == 0 => vec![100_000],
            _ if parameter.name == "beta" => vec![5 * parameter.default / 3],
            _ => vec![parameter.default / 2, parameter.default * 3 / 2],
        };
        let accepted = others.into_iter().filter(|number| {
            *number != parameter.default && (parameter.least..=parameter.most).contains(number)
        });
        variations.extend(accepted.map(|number| vec![(parameter.clone(), number)]));
    }
    let mechanisms: Vec<Setting> = parameters
        .into_iter()
        .filter(|parameter| parameter.mechanism.is_some())
        .map(|parameter| (parameter, 0))
        .collect();
    if !mechanisms.is_empty() {
        variations.push(mechanisms);
    }
    variations
}

/// The bound on windows, in segments: one for a threshold in whole segments and one for a window restored in whole
/// segments, or two for a difference that is almost a threshold, of which one side grows and the other shrinks.
const WINDOW_BOUND: f64 = 2.01;

/// The bound on the mean distance of windows, in segments.
const MEAN_BOUND: f64 = 0.5;

/// The bound on thresholds, which are whole segments, or half of whole segments of windows that are a segment apart.
const SSTHRESH_BOUND: f64 = 1.01;

/// The largest share of events after which thresholds are further apart, because one side left slow start a round
/// earlier.
const SSTHRESH_SHARE: f64 = 0.02;

/// The largest share of ACKs after which the thresholds of a band are apart. They move by comparing rates or round-trip
/// times of rounds, and two that are nearly equal may compare the other way round.
const ALPHA_SHARE: f64 = 0.1;

fn compare(twin: Twin, settings: &[Setting]) -> Option<Distance> {
    let described: Vec<String> =
        settings.iter().map(|(parameter, number)| format!("{} = {number}", parameter.name)).collect();
    let described = format!("{} with {}", twin.name(), described.join(", "));
    let probes: Vec<String> = twin.probes().into_iter().map(|probe| probe.name).collect();
    let value = |name: &str| {
        let default = twin.parameters().into_iter().find(|parameter| parameter.name == name);
        let set = settings.iter().find(|(parameter, _)| parameter.name == name).map(|(_, number)| *number);
        set.or(default.map(|parameter| parameter.default))
    };
    let is_coarse = matches!(value("numerator"), Some(1 | 2)) || value("round_diff") == Some(1);

    let mut distance = Distance::default();
    for (seed, losses) in (0..).zip([0.0, 0.001, 0.003, 0.01]) {
        let mut world = World::new(twin, settings, seed);
        world.live(4000, losses);
        let shown = drive(twin, &world.script)?;
        assert_eq!(shown.len(), world.expected.len());
        for (shown, expected) in shown.iter().zip(&world.expected) {
            if !expected.is_comparable {
                continue;
            }
            distance.add(shown, expected);
            if !expected.is_ack {
                continue;
            }
            for (name, pair) in probes.iter().zip(shown.probes.iter().zip(&expected.probes)) {
                // A twin that has reported nothing yet has no values.
                let (Some(shown), Some(expected)) = pair else { continue };
                if name == "alpha" {
                    distance.alpha_apart += usize::from((shown - expected).abs() > 0.01);
                } else {
                    assert!(
                        is_probe_close(name, *shown, *expected, is_coarse),
                        "{described}: {name} {shown} {expected}"
                    );
                }
            }
        }
    }
    assert!(distance.events > 5000, "{described}: {distance:?}");
    assert!(
        distance.window_most < WINDOW_BOUND && distance.window_mean() < MEAN_BOUND,
        "{described}: {distance:?}"
    );
    assert!(distance.ssthresh_share() < SSTHRESH_SHARE, "{described}: {distance:?}");
    assert!(distance.alpha_share() < ALPHA_SHARE, "{described}: {distance:?}");
    Some(distance)
}

#[test]
fn windows_and_probes_follow_the_algorithm_with_every_parameter() {
    for twin in Twin::all() {
        for settings in variations(twin) {
            let Some(distance) = compare(twin, &settings) else { return };
            let names: Vec<&str> = settings.iter().map(|(parameter, _)| parameter.name.as_str()).collect();
            println!(
                "{} {}: windows {:.4} segments apart in the mean and {:.2} at most, \
                 thresholds in {:.4} and bands in {:.4} of the events",
                twin.name(),
                names.join(" "),
                distance.window_mean(),
                distance.window_most,
                distance.ssthresh_share(),
                distance.alpha_share(),
            );
        }
    }
}

/// What a twin shows after the last of some events that follow its start with this window and threshold.
fn after(name: &str, parameters: &[(&str, i64)], start: (u32, u32), events: &[&str]) -> Option<Shown> {
    let twin = Twin::named(name).expect("a twin");
    let mut script: Vec<String> =
        parameters.iter().map(|(name, number)| format!("parameter {name} {number}")).collect();
    script.push("handshake 0 1".to_owned());
    script.push(format!("init 0 1000 0 0 {} {}", start.0, start.1));
    script.extend(events.iter().map(|event| (*event).to_owned()));
    drive(twin, &script)?.pop()
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-5, "{value} against {expected}");
}

#[test]
fn a_delayed_ack_grows_the_window_by_every_segment_it_acknowledges() {
    // Above the threshold, 3 segments of 10 add 3 / 10.
    let Some(shown) = after("reno", &[], (10, 5), &["ack 1 3000 13000 3 -1 1 3 0 -1 -1"]) else { return };
    close(shown.window, 10.3);
    // The first of 3 reaches the threshold of 5, and the others add 2 / 5.
    let shown = after("reno", &[], (4, 5), &["ack 1 3000 7000 3 -1 1 3 0 -1 -1"]).expect("a compiler");
    close(shown.window, 5.4);
    // A window that does not limit the sender does not grow.
    let shown = after("reno", &[], (10, 5), &["ack 1 3000 13000 3 -1 0 3 0 -1 -1"]).expect("a compiler");
    assert_eq!(shown.cwnd, 10);
}

#[test]
fn an_ack_of_three_segments_counts_two_less_in_the_released_vegas() {
    // The base RTT is 100 ms. In the next round, in which 10 segments were sent, the newest RTT is 200 ms: the actual
    // part of the difference is 10 / 2 = 5. Corrected, the numerator is the 10 segments in transit, and diff = 10 - 5;
    // as released, 1 - 3 = -2 is added [hengartner2000 equation (3)].
    let events = [
        "ack 100000 1000 10000 1 100000 1 1 0 -1 -1",
        "ack 300000 9000 20000 8 200000 1 9 1 -1 -1",
        "ack 300001 10000 20000 1 200000 1 10 1 -1 -1",
        "ack 300002 13000 20000 3 200000 1 13 0 -1 -1",
    ];
    for (fix_invariant, diff) in [(1, 5.0), (0, 3.0)] {
        let Some(shown) = after("vegas", &[("rtt", 1), ("fix_invariant", fix_invariant)], (10, 2), &events)
        else {
            return;
        };
        assert_eq!(shown.probes, [Some(0.1), Some(diff)]);
    }
}

#[test]
fn a_round_without_samples_lasts_at_least_the_base_rtt_unless_as_released() {
    // The base RTT is 100 ms, and the third round takes 50 ms without a sample, which is a round-trip time as released.
    let events = [
        "ack 100000 1000 11000 1 100000 1 1 0 -1 -1",
        "ack 200000 12000 21000 11 -1 1 12 0 -1 -1",
        "ack 250000 22000 31000 10 -1 1 22 0 -1 -1",
    ];
    for (fix_base_rtt, base_rtt) in [(1, 0.1), (0, 0.05)] {
        let Some(shown) = after("vegas", &[("fix_base_rtt", fix_base_rtt)], (10, 2), &events) else { return };
        assert_eq!(shown.probes[0], Some(base_rtt));
    }
    // A round of one segment resets the base RTT as released: from 100 ms to the 150 ms of the round.
    let events = [
        "ack 100000 1000 2000 1 100000 1 1 0 -1 -1",
        "ack 250000 2000 3000 1 150000 1 2 1 -1 -1",
        "ack 400000 3000 3000 1 150000 1 3 0 -1 -1",
    ];
    for (fix_base_rtt, base_rtt) in [(1, 0.1), (0, 0.15)] {
        let parameters = [("fix_base_rtt", fix_base_rtt), ("rtt", 1)];
        let shown = after("vegas", &parameters, (10, 2), &events).expect("a compiler");
        assert_eq!(shown.probes[0], Some(base_rtt));
    }
}

#[test]
fn a_loss_after_a_pause_counts_the_virtual_samples_that_were_due() {
    // 1000 segments in 0.1 s are 10 Mbyte/s, of which the filter takes 0.1 / 2.1: 476 190 byte/s. After 0.65 s without
    // an ACK, one virtual sample of zero was due: (1.5 * 476 190 + 0.5 * 10^7) / 2.5 = 2 285 714, which for an RTT of
    // 0.1 s are 228 segments.
    let events = ["ack 100000 1000 2000 1 100000 0 1000 0 -1 -1", "react 750000 3"];
    let Some(shown) = after("westwood", &[], (500, 100), &events) else { return };
    assert_eq!(shown.ssthresh, 228);
}

#[test]
fn a_vegas_window_keeps_three_quarters_and_a_threshold_of_two() {
    let no_two = [("window_of_two", 0)];
    // 21 - 21 / 4 = 16 segments.
    let last = "ack 2 1000 2000 1 -1 0 1 2 -1 -1";
    let recovery = ["react 1 3", last];
    let Some(shown) = after("vegas", &no_two, (21, 100), &recovery) else { return };
    assert_eq!((shown.cwnd, shown.ssthresh), (16, 2));
    // Three segments become two, where three quarters would be three whole ones.
    let shown = after("vegas", &no_two, (3, 100), &recovery).expect("a compiler");
    assert_eq!((shown.cwnd, shown.ssthresh), (2, 2));
    // The reaction to ECN and a timeout halve it; after the latter, the window has two segments, or one.
    let shown = after("vegas", &no_two, (21, 100), &["react 1 2", last]).expect("a compiler");
    assert_eq!((shown.cwnd, shown.ssthresh), (10, 10));
    let shown = after("vegas", &no_two, (21, 100), &["react 1 4"]).expect("a compiler");
    assert_eq!((shown.cwnd, shown.ssthresh), (1, 10));
    let shown = after("vegas", &[], (21, 100), &["react 1 4"]).expect("a compiler");
    assert_eq!(shown.cwnd, 2);
    // A timeout during a fast recovery halves the window before it.
    let shown = after("vegas", &no_two, (21, 100), &["react 1 3", "enter 2 4"]).expect("a compiler");
    assert_eq!((shown.cwnd, shown.ssthresh), (1, 10));
    // A spurious reaction restores both, and a fast recovery that was undone leaves no threshold to set later.
    let shown = after("vegas", &no_two, (21, 100), &["react 1 3", "undo", "react 2 2", last]);
    let shown = shown.expect("a compiler");
    assert_eq!((shown.cwnd, shown.ssthresh), (10, 10));
}

#[test]
fn a_reduction_that_the_kernel_did_not_tell_of_is_made_good_for_with_the_next_ack() {
    // The address that a kernel left in its memory; and a threshold that could be one.
    for ssthresh in [0x8110_4110_u32, 3] {
        for (twin, state) in Twin::all().flat_map(|twin| [2, 3, 4].map(|state| (twin, state))) {
            // An ACK ends a recovery or a reaction to ECN.
            let end = if state == 4 { 0 } else { 2 };
            let no_two = twin.parameters().into_iter().find(|parameter| parameter.name == "window_of_two");
            let settings: Vec<Setting> = no_two.into_iter().map(|parameter| (parameter, 0)).collect();
            let script = |reduction: String| -> Vec<String> {
                let events = [
                    "handshake 0 1".to_owned(),
                    "init 0 1000 0 0 20 10".to_owned(),
                    "ack 100000 1000 20000 1 100000 1 1 0 -1 -1".to_owned(),
                    "ack 200000 20000 41000 19 100000 1 20 0 -1 -1".to_owned(),
                    reduction,
                    "duplicate 300000 21".to_owned(),
                    "duplicate 310000 22".to_owned(),
                    format!("ack 400000 41000 51000 21 100000 1 41 {end} -1 -1"),
                    "ack 500000 51000 61000 10 100000 1 51 0 -1 -1".to_owned(),
                ];
                commands(&settings).chain(events).collect()
            };
            let Some(told) = drive(twin, &script(format!("react 300000 {state}"))) else { return };
            let missed = drive(twin, &script(format!("miss 300000 {state} {ssthresh}"))).expect("a compiler");
            assert_ne!(told[3], missed[3], "{} {state}", twin.name());
            assert_eq!(told[4..], missed[4..], "{} {state} {ssthresh}", twin.name());
        }
    }
}

#[test]
fn a_westwood_window_ends_its_recovery_below_a_threshold_that_is_larger() {
    // 30 segments in 100 ms at a minimum RTT of 100 ms are an estimate of 30 segments.
    let events = [
        "ack 100000 1000 11000 1 100000 1 1 0 -1 -1",
        "ack 200000 31000 41000 1 100000 0 31 0 -1 -1",
        "react 200000 3",
        "ack 200001 32000 41000 1 -1 0 32 2 -1 -1",
    ];
    // Of a window of 10, which grew to 11 with the first ACK: it stays, and slow start leads back to 30.
    let Some(shown) = after("westwoodp", &[], (10, 100), &events) else { return };
    assert_eq!((shown.cwnd, shown.ssthresh), (11, 30));
    assert_eq!(shown.probes, [Some(0.1), Some(8.0 * 300_000.0)]);
    // Without the limit, the window follows the estimate upwards.
    let shown = after("westwoodp", &[("only_reduce", 0)], (10, 100), &events).expect("a compiler");
    assert_eq!((shown.cwnd, shown.ssthresh), (30, 30));
}
