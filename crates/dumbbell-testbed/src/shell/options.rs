//! The options of `dumbbell shell`, and the scenario that they describe.

use clap::Parser;
use dumbbell_net::{LinkSpec, OpportunitySpec};
use dumbbell_sim::Scenario;
use dumbbell_units::spec::{Members, SpecError};
use dumbbell_units::{Value, quantity};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names of the nodes, links and the flow of a scenario that is made from options.
const NODES: [&str; 2] = ["inside", "outside"];
const LINKS: [&str; 2] = ["up", "down"];
const FLOW: &str = "shell";

/// Rate of a link that is given no rate: fast enough that its serialization delays do not matter.
const UNLIMITED: &str = "1000 Gbit/s";

/// Duration stated in the scenario, which does not limit the program.
const DURATION: &str = "87600 h";

/// Runs a program, or a shell, behind an emulated link. The link leads from a network of its own, in which the program
/// runs, to this host.
#[derive(Clone, Debug, Default, PartialEq, Parser)]
#[command(name = "dumbbell shell", bin_name = "dumbbell shell")]
#[command(
    after_help = "Files to be written are opened with the rights of the one who called. Missing folders are made, \
symbolic links are followed, pipes and devices are written to."
)]
pub struct Options {
    /// Rate each way, such as 10Mbit; unlimited if not given
    #[arg(long, help_heading = "Link")]
    pub rate: Option<String>,
    /// Rate from the program to this host
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    pub up_rate: Option<String>,
    /// Rate from this host to the program
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    pub down_rate: Option<String>,
    /// Propagation delay each way, such as 20ms; zero if not given
    #[arg(long, help_heading = "Link")]
    pub delay: Option<String>,
    /// Propagation delay from the program to this host
    #[arg(long, value_name = "DELAY", help_heading = "Link")]
    pub up_delay: Option<String>,
    /// Propagation delay from this host to the program
    #[arg(long, value_name = "DELAY", help_heading = "Link")]
    pub down_delay: Option<String>,
    /// Queue discipline each way with its parameters, such as fqcodel or droptail:limit=100p; unlimited drop-tail if not
    /// given
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", help_heading = "Link")]
    pub queue: Option<String>,
    /// Queue discipline from the program to this host
    #[arg(long, value_name = "QUEUE", help_heading = "Link")]
    pub up_queue: Option<String>,
    /// Queue discipline from this host to the program
    #[arg(long, value_name = "QUEUE", help_heading = "Link")]
    pub down_queue: Option<String>,
    /// Share of packets lost at random each way, such as 1%
    #[arg(long, value_name = "SHARE", help_heading = "Link")]
    pub loss: Option<String>,
    /// Share lost from the program to this host
    #[arg(long, value_name = "SHARE", help_heading = "Link")]
    pub up_loss: Option<String>,
    /// Share lost from this host to the program
    #[arg(long, value_name = "SHARE", help_heading = "Link")]
    pub down_loss: Option<String>,
    /// Delivery opportunities each way in place of a rate: a trace of Mahimahi
    #[arg(long, value_name = "FILE", help_heading = "Link")]
    pub trace: Option<PathBuf>,
    /// Delivery opportunities from the program to this host
    #[arg(long, visible_alias = "trace-up", value_name = "FILE", help_heading = "Link")]
    pub up_trace: Option<PathBuf>,
    /// Delivery opportunities from this host to the program
    #[arg(long, visible_alias = "trace-down", value_name = "FILE", help_heading = "Link")]
    pub down_trace: Option<PathBuf>,
    /// Scenario file in TOML or JSON whose links are used in place of these options; its flows are not started
    #[arg(long, value_name = "FILE", help_heading = "Link")]
    pub scenario: Option<PathBuf>,
    /// Node of the scenario at which the program is; the sender of its first flow if not given
    #[arg(long, value_name = "NODE", requires = "scenario", help_heading = "Link")]
    pub inside: Option<String>,
    /// Node of the scenario at which this host is; the receiver of its first flow if not given
    #[arg(long, value_name = "NODE", requires = "scenario", help_heading = "Link")]
    pub outside: Option<String>,
    /// Seed of random losses and queues
    #[arg(long, default_value_t = 1, help_heading = "Link")]
    pub seed: u64,
    /// User as whom the program runs, a name or UID[:GID]; the invoking user if not given
    #[arg(long, help_heading = "Program")]
    pub user: Option<String>,
    /// Environment variable of the program, or one of the invoking process to pass on; may be repeated. Without it, the
    /// program has TERM, LANG, LC_* and PATH of the invoking process, and HOME, USER, LOGNAME and SHELL of its user
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Program")]
    pub env: Vec<OsString>,
    /// Keep the program and all that it starts from gaining rights, as by sudo or ping: their set-user-ID bits and file
    /// capabilities have no effect
    #[arg(long, help_heading = "Program")]
    pub no_new_privileges: bool,
    /// Let the program reach beyond this host, by masquerading (needs nftables)
    #[arg(long, help_heading = "Program")]
    pub internet: bool,
    /// Largest packet inside, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..), help_heading = "Program")]
    pub mtu: u16,
    /// Write throughput, backlog, drops and delay of every interval as CSV
    #[arg(long, value_name = "FILE", help_heading = "Records")]
    pub log: Option<PathBuf>,
    /// Length of an interval of the log, such as 100ms
    #[arg(long, value_name = "TIME", default_value = "100ms", help_heading = "Records")]
    pub interval: String,
    /// Write all packets at both ends as pcapng
    #[arg(long, value_name = "FILE", help_heading = "Records")]
    pub pcap: Option<PathBuf>,
    /// Write totals and lateness as JSON at the end
    #[arg(long, value_name = "FILE", help_heading = "Records")]
    pub report: Option<PathBuf>,
    /// Where to show what the link does, if standard error is a terminal: a line for a given command, and the title of
    /// the window for a shell, if not given
    #[arg(long, value_enum, help_heading = "Records")]
    pub status: Option<Status>,
    /// Program with its arguments; the user's shell if not given
    #[arg(last = true)]
    pub command: Vec<String>,
}

/// Where live statistics go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Status {
    /// The last line of the terminal.
    Line,
    /// The title of the terminal's window.
    Title,
    /// Nowhere.
    None,
}

/// What was rejected: the option, its value, and what is accepted, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection(pub String);

impl std::fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Rejection {}

fn reject<T>(option: &str, value: &str, accepted: &str) -> Result<T, Rejection> {
    let (field, value, accepted) = (option.to_owned(), format!("\"{value}\""), accepted.to_owned());
    Err(Rejection(SpecError { field, value, accepted, suggestion: None }.to_string()))
}

/// A rate as people write it, in the form of a scenario: `10Mbit`, `10Mbit/s` and `10Mbps` are `10 Mbit/s`.
fn rate(option: &str, text: &str) -> Result<String, Rejection> {
    let number = text.trim_end_matches(|c: char| c.is_alphabetic() || c == '/');
    let unit = text[number.len()..].trim();
    let unit = match unit.to_ascii_lowercase().trim_end_matches("/s").trim_end_matches("ps") {
        "bit" | "b" if !unit.starts_with('B') => "bit/s",
        "kbit" | "kb" if !unit.contains('B') => "kbit/s",
        "mbit" | "mb" if !unit.contains('B') => "Mbit/s",
        "gbit" | "gb" if !unit.contains('B') => "Gbit/s",
        _ => unit,
    };
    let written = format!("{} {unit}", number.trim());
    match quantity::amount(&written, quantity::RATE_UNITS) {
        Some(bits) if bits >= 1.0 => Ok(written),
        _ => reject(option, text, "a rate above 0, such as 10Mbit, 1.6Mbit/s or 200kB/s"),
    }
}

/// A time, such as `20ms`.
fn time(option: &str, text: &str) -> Result<String, Rejection> {
    match quantity::amount(text, quantity::TIME_UNITS) {
        Some(_) => Ok(text.to_owned()),
        None => reject(option, text, "a time, such as 20ms or 0.1s"),
    }
}

/// A share, such as `1%` or `0.01`.
fn share(option: &str, text: &str) -> Result<f64, Rejection> {
    let (number, factor) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 0.01));
    match number.trim().parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&(number * factor)) => Ok(number * factor),
        _ => reject(option, text, "a share from 0% to 100%, or a number from 0 to 1"),
    }
}

/// A value of a queue's parameter: a number, a truth value, or text such as a quantity. `100p` is `100 packets`.
fn parameter(text: &str) -> Value {
    let text = text.trim();
    if let Some(number) = text.strip_suffix('p').and_then(|number| number.trim().parse::<u64>().ok()) {
        return json!(format!("{number} packets"));
    }
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => json!(text),
    }
}

/// A queue discipline with its parameters, such as `fqcodel` or `droptail:limit=100p`.
fn queue(option: &str, text: &str) -> Result<Value, Rejection> {
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let mut members = Members::new();
    members.insert("kind".into(), json!(name.trim()));
    for pair in parameters.split(',').filter(|pair| !pair.trim().is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return reject(option, text, "NAME or NAME:KEY=VALUE,..., such as droptail:limit=100p");
        };
        members.insert(key.trim().into(), parameter(value));
    }
    Ok(Value::Object(members))
}

/// The opportunities of a trace file.
fn opportunities(option: &str, file: &Path) -> Result<OpportunitySpec, Rejection> {
    let text = read(option, file)?;
    OpportunitySpec::from_trace(&text).map_err(|(line, accepted)| {
        let value = text.lines().nth(line - 1).map_or("nothing".to_owned(), |found| format!("\"{found}\""));
        let field = format!("{option}: {}, line {line}", file.display());
        let error = SpecError { field, value, accepted: accepted.to_owned(), suggestion: None };
        Rejection(error.to_string())
    })
}

/// Replaces the trace files that links of a scenario name, as `opportunities = { file = "..." }`, by their times. What is
/// not as it should be is left to the scenario.
fn read_traces(scenario: &mut Value, folder: &Path) -> Result<(), Rejection> {
    let links = scenario.get_mut("links").and_then(Value::as_array_mut);
    for link in links.into_iter().flatten() {
        let Some(stated) = link.get_mut("opportunities").and_then(Value::as_object_mut) else { continue };
        let file = stated.get("file").and_then(Value::as_str).filter(|_| !stated.contains_key("times"));
        if let Some(file) = file {
            let times = opportunities("--scenario", &folder.join(file))?.times;
            stated.remove("file");
            stated.insert("times".into(), json!(times));
        }
    }
    Ok(())
}

fn read(option: &str, file: &Path) -> Result<String, Rejection> {
    #[cfg(all(feature = "kernel", target_os = "linux"))]
    let text = crate::files::read(file);
    // Without the kernel no program runs: options are only read, in tests.
    #[cfg(not(all(feature = "kernel", target_os = "linux")))]
    let text = std::fs::read_to_string(file);
    text.map_err(|error| Rejection(format!("{option}: cannot read {}: {error}", file.display())))
}

/// The options of one direction, with the names that they were given by.
struct Way<'a> {
    rate: Option<(&'static str, &'a str)>,
    delay: Option<(&'static str, &'a str)>,
    queue: Option<(&'static str, &'a str)>,
    loss: Option<(&'static str, &'a str)>,
    trace: Option<(&'static str, &'a Path)>,
}

/// The option of one direction, or else the common one.
fn chosen<'a, T: ?Sized>(
    own: (&'static str, Option<&'a T>),
    common: (&'static str, Option<&'a T>),
) -> Option<(&'static str, &'a T)> {
    own.1.map(|value| (own.0, value)).or_else(|| common.1.map(|value| (common.0, value)))
}

impl Way<'_> {
    /// The link, as in a scenario.
    fn link(
        &self,
        (name, from, to): (&str, &str, &str),
    ) -> Result<(Value, Option<OpportunitySpec>), Rejection> {
        let opportunities = match (self.trace, self.rate) {
            (Some((option, _)), Some((rate, value))) => {
                return reject(rate, value, &format!("nothing beside {option}, which determines the rate"));
            }
            (Some((option, file)), None) => Some(opportunities(option, file)?),
            (None, _) => None,
        };
        let rate = match (self.rate, &opportunities) {
            (Some((option, text)), _) => rate(option, text)?,
            (None, Some(spec)) => spec.mean_rate().to_string(),
            (None, None) => UNLIMITED.to_owned(),
        };
        let delay = self.delay.map_or(Ok("0 s".to_owned()), |(option, text)| time(option, text))?;
        let mut link = json!({ "name": name, "from": from, "to": to, "rate": rate, "delay": delay });
        if let Some((option, text)) = self.queue {
            link["queue"] = queue(option, text)?;
        }
        if let Some((option, text)) = self.loss {
            let probability = share(option, text)?;
            link["impairments"] = json!([{ "kind": "bernoulli", "probability": probability }]);
        }
        Ok((link, opportunities))
    }

    /// An error of the scenario, in terms of options.
    fn rejection(&self, error: &SpecError, members: &str) -> Rejection {
        let (member, rest) = members.split_once('.').unwrap_or((members, ""));
        let option = match member {
            "rate" => self.rate.map(|(option, _)| option),
            "delay" => self.delay.map(|(option, _)| option),
            "queue" => self.queue.map(|(option, _)| option),
            "impairments" => self.loss.map(|(option, _)| option),
            _ => None,
        };
        let field = [option.unwrap_or(member), rest].join(" ");
        Rejection(SpecError { field: field.trim().to_owned(), ..error.clone() }.to_string())
    }
}

/// The links of a shell: a scenario with one flow, which leads from the program to this host.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario.
    pub scenario: Scenario,
    /// Names of the scenario's flows that are not emulated.
    pub ignored: Vec<String>,
    /// Length of an interval of the log, in nanoseconds.
    pub interval: u64,
}

impl Options {
    /// The link that the options describe. Reads the files that they name.
    ///
    /// # Errors
    ///
    /// An option has a value that is not accepted, or a file cannot be read.
    pub fn plan(&self) -> Result<Plan, Rejection> {
        let interval = time("--interval", &self.interval)?;
        let interval = quantity::amount(&interval, quantity::TIME_UNITS).unwrap_or_default() as u64;
        if interval < 1_000_000 {
            return reject("--interval", &self.interval, "a time of at least 1ms");
        }
        let (scenario, ignored) = match &self.scenario {
            Some(file) => self.scenario_of_file(file)?,
            None => (self.scenario_of_options()?, Vec::new()),
        };
        Ok(Plan { scenario, ignored, interval })
    }

    fn ways(&self) -> [Way<'_>; 2] {
        let rate = ("--rate", self.rate.as_deref());
        let delay = ("--delay", self.delay.as_deref());
        let queue = ("--queue", self.queue.as_deref());
        let loss = ("--loss", self.loss.as_deref());
        let trace = ("--trace", self.trace.as_deref());
        let up = Way {
            rate: chosen(("--up-rate", self.up_rate.as_deref()), rate),
            delay: chosen(("--up-delay", self.up_delay.as_deref()), delay),
            queue: chosen(("--up-queue", self.up_queue.as_deref()), queue),
            loss: chosen(("--up-loss", self.up_loss.as_deref()), loss),
            trace: chosen(("--up-trace", self.up_trace.as_deref()), trace),
        };
        let down = Way {
            rate: chosen(("--down-rate", self.down_rate.as_deref()), rate),
            delay: chosen(("--down-delay", self.down_delay.as_deref()), delay),
            queue: chosen(("--down-queue", self.down_queue.as_deref()), queue),
            loss: chosen(("--down-loss", self.down_loss.as_deref()), loss),
            trace: chosen(("--down-trace", self.down_trace.as_deref()), trace),
        };
        [up, down]
    }

    fn scenario_of_options(&self) -> Result<Scenario, Rejection> {
        let ways = self.ways();
        let [inside, outside] = NODES;
        let (up, up_opportunities) = ways[0].link((LINKS[0], inside, outside))?;
        let (down, down_opportunities) = ways[1].link((LINKS[1], outside, inside))?;
        let value = json!({
            "duration": DURATION, "rules": "classic", "nodes": NODES, "links": [up, down],
            "flows": [{ "name": FLOW, "from": inside, "to": outside, "tcp": "reno" }],
        });
        let mut scenario = Scenario::from_value(&value).map_err(|error| {
            let link = (0..2).find_map(|way| {
                let members = error.field.strip_prefix("links.")?.strip_prefix(LINKS[way])?;
                Some(ways[way].rejection(&error, members.strip_prefix('.')?))
            });
            link.unwrap_or_else(|| Rejection(error.to_string()))
        })?;
        // Millions of times need not become text and be read again.
        for (link, opportunities) in scenario.links.iter_mut().zip([up_opportunities, down_opportunities]) {
            link.opportunities = opportunities;
        }
        Ok(scenario)
    }

    fn scenario_of_file(&self, file: &Path) -> Result<(Scenario, Vec<String>), Rejection> {
        if let Some((option, value)) = self.ways().iter().find_map(|way| {
            let text = way.rate.or(way.delay).or(way.queue).or(way.loss);
            text.map(|(option, value)| (option, value.to_owned()))
                .or_else(|| way.trace.map(|(option, file)| (option, file.display().to_string())))
        }) {
            return reject(option, &value, "nothing beside --scenario, which describes the links");
        }
        let text = read("--scenario", file)?;
        let is_json = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let wrong =
            |error: &dyn std::fmt::Display| Rejection(format!("--scenario: {}: {error}", file.display()));
        let mut value = if is_json {
            serde_json::from_str(&text).map_err(|error| wrong(&error))?
        } else {
            Scenario::toml_value(&text).map_err(|error| wrong(&error))?
        };
        read_traces(&mut value, file.parent().unwrap_or(Path::new(".")))?;
        let mut scenario = Scenario::from_value(&value).map_err(|error| wrong(&error))?;
        let (first_from, first_to) = scenario.flows.first().map_or(("", ""), |flow| (&flow.from, &flow.to));
        let from = self.inside.as_deref().unwrap_or(first_from).to_owned();
        let to = self.outside.as_deref().unwrap_or(first_to).to_owned();
        let nodes: Vec<&str> = scenario.nodes.iter().map(|node| node.0.name.as_str()).collect();
        for (option, name) in [("--inside", &from), ("--outside", &to)] {
            if !nodes.contains(&name.as_str()) {
                return reject(option, name, &format!("a node of the scenario: {}", nodes.join(", ")));
            }
        }
        // A flow between the two nodes may state its paths.
        let is_between = |flow: &dumbbell_sim::flows::FlowSpec| flow.from == from && flow.to == to;
        let stated = scenario.flows.iter().find(|flow| is_between(flow)).cloned();
        let ignored = scenario.flows.iter().filter(|flow| !is_between(flow)).map(|flow| flow.name.clone());
        let ignored: Vec<String> = ignored.collect();
        let mut value = json!({ "name": FLOW, "from": from, "to": to, "tcp": "reno" });
        if let Some(flow) = stated {
            for (member, path) in [("path", flow.path), ("reverse_path", flow.reverse_path)] {
                if let Some(path) = path {
                    value[member] = json!(path);
                }
            }
        }
        let links: Vec<LinkSpec> = std::mem::take(&mut scenario.links);
        let canonical: Value = serde_json::from_str(&Scenario { links: Vec::new(), ..scenario }.to_json())
            .map_err(|error| Rejection(format!("--scenario: {error}")))?;
        let links: Vec<Value> = links.iter().map(dumbbell_units::spec::Field::encode).collect();
        let value = json!({ "duration": DURATION, "rules": "classic", "nodes": canonical["nodes"], "links": links, "flows": [value] });
        let scenario = Scenario::from_value(&value)
            .map_err(|error| Rejection(format!("--scenario: {}: {error}", file.display())))?;
        Ok((scenario, ignored))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_net::{ImpairmentSpec, QueueSpec};
    use dumbbell_units::{Bytes, Limit, Rate, Time};

    fn parsed(arguments: &[&str]) -> Options {
        let all = ["dumbbell shell"].iter().chain(arguments);
        Options::try_parse_from(all).unwrap_or_else(|error| panic!("{error}"))
    }

    fn planned(arguments: &[&str]) -> Result<Scenario, String> {
        parsed(arguments).plan().map(|plan| plan.scenario).map_err(|rejection| rejection.0)
    }

    #[test]
    fn options_of_one_direction_precede_common_ones() {
        let scenario = planned(&[
            "--rate",
            "10Mbit",
            "--down-rate",
            "1.5Gbps",
            "--delay",
            "20ms",
            "--up-loss",
            "1%",
            "--queue",
            "droptail:limit=100p",
            "--down-queue",
            "codel:target=4ms",
        ])
        .expect("a scenario");
        let [up, down] = scenario.links.as_slice() else { panic!("two links") };
        assert_eq!((up.rate, down.rate), (Rate(10_000_000), Rate(1_500_000_000)));
        assert_eq!((up.delay, down.delay), (Time(20_000_000), Time(20_000_000)));
        assert_eq!(up.queue.room(), Limit::Packets(100));
        assert!(matches!(&down.queue, QueueSpec::CoDel(codel) if codel.target == Time(4_000_000)));
        let loss = |link: &LinkSpec| match link.impairments.as_slice() {
            [ImpairmentSpec::Bernoulli(bernoulli)] => Some(bernoulli.probability),
            _ => None,
        };
        assert_eq!((loss(up), loss(down)), (Some(0.01), None));
    }

    #[test]
    fn quantities_are_read_as_people_write_them() {
        for (text, written) in [
            ("10Mbit", "10 Mbit/s"),
            ("10Mbit/s", "10 Mbit/s"),
            ("10 Mbit/s", "10 Mbit/s"),
            ("10Mbps", "10 Mbit/s"),
            ("10mbit", "10 Mbit/s"),
            ("512kbit", "512 kbit/s"),
            ("1.5gbit", "1.5 Gbit/s"),
            ("9600bit", "9600 bit/s"),
            ("200kB/s", "200 kB/s"),
            ("3MB/s", "3 MB/s"),
        ] {
            assert_eq!(rate("--rate", text), Ok(written.to_owned()), "{text}");
        }
        for text in ["10", "fast", "0Mbit", "-1Mbit", "10MB", "10MBit", ""] {
            assert!(rate("--rate", text).is_err(), "{text}");
        }
        assert_eq!(
            [share("", "1%"), share("", "0.02"), share("", " 100 % ".trim())],
            [Ok(0.01), Ok(0.02), Ok(1.0)]
        );
        assert!(share("", "101%").is_err() && share("", "-1").is_err() && share("", "some").is_err());
        let values = ["100p", "100 packets", "64kB", "0.5", "true", "5ms"].map(parameter);
        assert_eq!(json!(values), json!(["100 packets", "100 packets", "64kB", 0.5, true, "5ms"]));
    }

    #[test]
    fn rejections_name_the_option_the_value_and_what_is_accepted() {
        for (arguments, message) in [
            (["--rate", "10"], "--rate: \"10\" is not accepted; expected a rate above 0"),
            (["--up-delay", "20"], "--up-delay: \"20\" is not accepted; expected a time"),
            (["--loss", "2"], "--loss: \"2\" is not accepted; expected a share"),
            (["--queue", "fqcodl"], "did you mean `fqcodel`"),
            (
                ["--queue", "codel:target"],
                "--queue: \"codel:target\" is not accepted; expected NAME or NAME:KEY=VALUE",
            ),
            (["--down-queue", "codel:target=fast"], "--down-queue target"),
            (["--trace", "/nonexistent"], "--trace: cannot read /nonexistent"),
            (["--interval", "1us"], "--interval: \"1us\" is not accepted; expected a time of at least 1ms"),
        ] {
            let error = planned(&arguments).expect_err("a rejection");
            assert!(error.contains(message), "{error}");
        }
        assert!(Options::try_parse_from(["dumbbell shell", "--inside", "a"]).is_err(), "needs --scenario");
        let error = planned(&["--scenario", "f", "--delay", "1ms"]).expect_err("a rejection");
        assert!(
            error.contains("--delay: \"1ms\" is not accepted; expected nothing beside --scenario"),
            "{error}"
        );
    }

    /// A file that is removed when it is dropped.
    struct TestFile(PathBuf);

    impl TestFile {
        fn new(name: &str, text: &str) -> TestFile {
            let path = std::env::temp_dir().join(format!("dumbbell-{}-{name}", std::process::id()));
            std::fs::write(&path, text).expect("a file");
            TestFile(path)
        }

        fn path(&self) -> &str {
            self.0.to_str().expect("a path")
        }
    }

    impl Drop for TestFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_trace_replaces_the_rate() {
        let file = TestFile::new("trace", "1\n2\n4\n");
        let scenario = planned(&["--trace", file.path(), "--delay", "5ms"]).expect("a scenario");
        let [up, down] = scenario.links.as_slice() else { panic!("two links") };
        let spec = up.opportunities.as_ref().expect("opportunities");
        assert_eq!((spec.times.as_slice(), spec.size), (&[1, 2, 4][..], Bytes(1504)));
        // Three opportunities of 12 032 bits in 4 ms.
        assert_eq!((up.rate, down.opportunities.is_some()), (Rate(9_024_000), true));
        let only_up = planned(&["--trace-up", file.path(), "--down-rate", "1Mbit"]).expect("a scenario");
        assert!(only_up.links[0].opportunities.is_some() && only_up.links[1].opportunities.is_none());
        let error = planned(&["--trace", file.path(), "--rate", "1Mbit"]).expect_err("a rejection");
        assert!(error.contains("nothing beside --trace"), "{error}");
        let wrong = TestFile::new("wrong", "1\n2\n1\n");
        let error = planned(&["--trace", wrong.path()]).expect_err("a rejection");
        assert!(
            error.contains("line 3: \"1\" is not accepted; expected times in ascending order"),
            "{error}"
        );
    }

    #[test]
    fn a_scenario_connects_two_of_its_nodes() {
        let file = TestFile::new(
            "scenario.toml",
            r#"
            duration = "5 s"
            rules = "classic"
            nodes = ["a", "r", "b"]
            links = [
                { name = "ar", from = "a", to = "r", rate = "8 Mbit/s", delay = "5 ms" },
                { name = "rb", from = "r", to = "b", rate = "4 Mbit/s", delay = "5 ms", queue = "codel" },
                { name = "br", from = "b", to = "r", rate = "8 Mbit/s", delay = "5 ms" },
                { name = "ra", from = "r", to = "a", rate = "8 Mbit/s", delay = "5 ms" },
            ]
            flows = [{ name = "f", from = "a", to = "b", tcp = "vegas" }, { name = "g", from = "r", to = "b", tcp = "reno" }]
            "#,
        );
        let plan = parsed(&["--scenario", file.path()]).plan().expect("a plan");
        assert_eq!((plan.scenario.links.len(), plan.scenario.flows.len()), (4, 1));
        assert_eq!((plan.scenario.flows[0].from.as_str(), plan.ignored), ("a", vec!["g".to_owned()]));
        let other =
            planned(&["--scenario", file.path(), "--inside", "r", "--outside", "b"]).expect("a scenario");
        assert_eq!(other.flows[0].from, "r");
        let trace = TestFile::new("named", "1\n3\n");
        let name = trace.0.file_name().and_then(|name| name.to_str()).expect("a name");
        let text = std::fs::read_to_string(file.path()).expect("a file");
        let with_trace = format!("delay = \"5 ms\", opportunities = {{ file = \"{name}\" }}");
        let traced = TestFile::new("traced.toml", &text.replacen("delay = \"5 ms\"", &with_trace, 1));
        let scenario = planned(&["--scenario", traced.path()]).expect("a scenario");
        assert_eq!(scenario.links[0].opportunities.as_ref().map(|spec| spec.times.clone()), Some(vec![1, 3]));
        let error = planned(&["--scenario", file.path(), "--inside", "x"]).expect_err("a rejection");
        assert_eq!(error, "--inside: \"x\" is not accepted; expected a node of the scenario: a, r, b");
    }

    #[test]
    fn what_follows_two_dashes_is_the_command() {
        let options = parsed(&["--delay", "5ms", "--", "curl", "--rate", "3"]);
        assert_eq!(
            (options.command.as_slice(), options.rate),
            (&["curl", "--rate", "3"].map(String::from)[..], None)
        );
    }
}
