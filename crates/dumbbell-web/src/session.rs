//! What a page asks of the engine: check a scenario, run it in slices, and read the results of this and of a kept run.

use crate::limits::{self, MAX_TEXT};
use crate::looking::{Look, counted};
use crate::outline;
use crate::own::Own;
use crate::plotted::{Curve, growth, thinned};
use crate::running::Running;
use crate::watching::{MOST, Watch, watched};
use dumbbell_sim::columns::{Column, FLOWS, LINKS};
use dumbbell_sim::journal::columns::{self, ENTRIES};
use dumbbell_sim::journal::{Entry, Journal, Observation};
use dumbbell_sim::trace::Recording;
use dumbbell_sim::{Excess, Outcome, Overflow, Scenario};
use dumbbell_units::spec::{Field, SpecError};
use serde_json::{Value, json};

/// Which results are meant: those of the last run, or those that were kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The last run.
    Last,
    /// The run that was kept.
    Kept,
}

/// A run that has begun.
struct Begun {
    running: Running,
    scenario: Scenario,
    seed: u64,
    run: u64,
    watch: Watch,
    /// The run repeats one that is over, for a closer look.
    look: Option<Look>,
}

impl Begun {
    fn new(scenario: Scenario, (seed, run): (u64, u64), watch: Watch) -> Self {
        let running = Running::begin(watched(&scenario, watch), (seed, run), None, None);
        Begun { running, scenario, seed, run, watch, look: None }
    }

    fn again(finished: &Finished, look: Look) -> Self {
        let Finished { scenario, outcome, .. } = finished;
        let (seed, run) = (outcome.seed, outcome.run);
        let running = Running::begin(scenario.clone(), (seed, run), look.journal(), look.tap());
        let scenario = scenario.clone();
        Begun { running, scenario, seed, run, watch: Watch::Nothing, look: Some(look) }
    }
}

/// The results of a run.
struct Finished {
    scenario: Scenario,
    outcome: Outcome,
    watch: Watch,
}

/// The state of a page's engine: one run in progress and the results of up to two.
#[derive(Default)]
pub struct Session {
    begun: Option<Begun>,
    last: Option<Finished>,
    kept: Option<Finished>,
    /// The algorithms of the page.
    pub own: Own,
    /// The bytes of a file, or the numbers, that a closer look has given.
    pub given: Vec<u8>,
}

/// An error as JSON: the field with its value, what is accepted and a near miss, or a message alone.
fn refusal(error: &SpecError) -> Value {
    json!({
        "field": error.field,
        "value": error.value,
        "accepted": error.accepted,
        "suggestion": error.suggestion,
        "message": error.to_string(),
    })
}

/// The answer that a refusal is.
pub(crate) fn refused(error: &SpecError) -> Value {
    json!({ "error": refusal(error) })
}

fn failure(message: &str) -> Value {
    json!({ "error": { "field": null, "message": message } })
}

/// The message of a run that needed too much memory.
fn excess(overflow: &Overflow) -> String {
    let Overflow { of, count, limit, at } = overflow;
    match of {
        Excess::Samples => format!(
            "{at}: the probes have recorded {count} samples; at most {limit} are kept in a page. State a period in the \
            probes, or fewer of them"
        ),
        Excess::Packets => {
            format!("{at}: {count} packets are in flight or in queues; at most {limit} are kept in a page")
        }
    }
}

impl Session {
    /// Reads a scenario: the places of its fields, and either its error or its network with warnings. At most 24 flows are
    /// listed in full.
    pub fn check(&self, text: &str) -> Value {
        let mut answer = json!({ "outline": outline::json(text) });
        match read(text, &self.own) {
            Err(error) => answer["error"] = refusal(&error),
            Ok(scenario) => {
                let flows = scenario.flows.iter().take(MOST);
                answer["network"] = json!({
                    "name": scenario.name,
                    "duration_s": scenario.duration.secs(),
                    "nodes": scenario.nodes.iter().map(|node| &node.0.name).collect::<Vec<_>>(),
                    "links": scenario.links.encode(),
                    "flows": flows.map(Field::encode).collect::<Value>(),
                    "flow_count": scenario.flows.len(),
                });
                answer["warnings"] = json!(scenario.warnings());
            }
        }
        answer
    }

    /// Begins a run in place of one in progress.
    ///
    /// # Errors
    ///
    /// The scenario is refused; the value says why.
    pub fn begin(&mut self, text: &str, seed: u64, run: u64, watch: Watch) -> Result<(), Value> {
        self.begun = None;
        self.own.take_fault();
        let scenario = read(text, &self.own).map_err(|error| refused(&error))?;
        self.begun = Some(Begun::new(scenario, (seed, run), watch));
        Ok(())
    }

    /// Repeats a run that is over for a closer look: see [`Look::of`]. `finish` gives what was seen.
    ///
    /// # Errors
    ///
    /// There is no such run, or the request names what it does not have.
    pub fn look(&mut self, which: Which, request: &Value) -> Result<(), Value> {
        let finished = match which {
            Which::Last => &self.last,
            Which::Kept => &self.kept,
        };
        let finished = finished.as_ref().ok_or_else(|| failure("there is no run to look at"))?;
        let look = Look::of(request, &finished.scenario);
        let look = look.map_err(|error| refused(&error))?;
        self.own.take_fault();
        self.begun = Some(Begun::again(finished, look));
        Ok(())
    }

    /// Runs through about so many events. True once the run is over, or there is none.
    pub fn advance(&mut self, events: u64) -> bool {
        if self.own.has_failed() {
            return true;
        }
        self.begun.as_mut().is_none_or(|begun| begun.running.advance(events))
    }

    /// The share of the simulated time that is over, and the number of events so far.
    pub fn progress(&self) -> (f64, u64) {
        let running = self.begun.as_ref().map(|begun| &begun.running);
        running.map_or((0.0, 0), |running| (running.progress(), running.events()))
    }

    /// Drops the run in progress.
    pub fn cancel(&mut self) {
        self.begun = None;
    }

    /// The results of the run in progress, which goes to its end before. A run whose probes recorded too many changes
    /// begins again with values at regular times, and the answer is `{"again": true}`.
    pub fn finish(&mut self) -> Value {
        let Some(begun) = self.begun.take() else { return failure("there is no run to finish") };
        if let Some(fault) = self.own.take_fault() {
            return failure(&fault);
        }
        let Begun { running, scenario, seed, run, watch, look } = begun;
        let outcome = running.finish();
        if let Some(fault) = self.own.take_fault() {
            return failure(&fault);
        }
        if let Some(look) = look {
            return self.looked(look, &scenario, &outcome).unwrap_or_else(|text| failure(&text));
        }
        if let Some(overflow) = &outcome.overflow {
            if overflow.of == Excess::Samples && watch == Watch::Changes {
                self.begun = Some(Begun::new(scenario, (seed, run), Watch::Periods));
                return json!({ "again": true });
            }
            return failure(&excess(overflow));
        }
        if let Some(message) = &outcome.failure {
            return failure(message);
        }
        let finished = self.last.insert(Finished { scenario, outcome, watch });
        results(finished)
    }

    /// What a closer look at a run has shown.
    fn looked(&mut self, look: Look, scenario: &Scenario, outcome: &Outcome) -> Result<Value, String> {
        if let Some(overflow) = &outcome.overflow {
            return Err(excess(overflow));
        }
        let is_same = |finished: &Finished| finished.outcome.fingerprint == outcome.fingerprint;
        if ![&self.last, &self.kept].into_iter().flatten().any(is_same) {
            return Err(
                "the run was repeated, and differs: its own algorithm depends on more than its events".into(),
            );
        }
        match look {
            Look::Why(request) => {
                let journal = outcome.journal.as_ref().ok_or("the repeated run kept no journal")?;
                let flow = scenario.flows.get(request.flow as usize);
                let mss = flow.and_then(|flow| flow.tcp.as_ref()).map(|tcp| tcp.0.mss.0);
                Ok(explanation(journal, mss))
            }
            Look::Packets(packets) => {
                let packets = std::sync::Arc::into_inner(packets).ok_or("the packets are still watched")?;
                let (bytes, count) = packets.finish()?;
                self.given = bytes;
                Ok(counted(count, 0))
            }
            Look::Film(film) => {
                let (places, omitted) = film.finish();
                self.given = places.iter().flat_map(|number| number.to_le_bytes()).collect();
                Ok(counted(places.len() as u64 / 5, omitted))
            }
        }
    }

    /// Keeps the results of the last run for comparison.
    pub fn keep(&mut self) {
        self.kept = self.last.take();
    }

    /// Drops what was kept.
    pub fn drop_kept(&mut self) {
        self.kept = None;
    }

    /// A trace for a plot: see [`thinned`]. Empty if there is no such recording.
    pub fn trace(&self, which: Which, index: usize, span: (f64, f64), intervals: usize) -> Curve {
        let recording = self.recording(which, index);
        recording.map_or_else(Curve::default, |recording| thinned(recording, span.0, span.1, intervals))
    }

    /// The growth per second of a counted quantity: see [`growth`]. Empty if there is no such recording.
    pub fn growth(&self, which: Which, index: usize, span: (f64, f64), intervals: usize) -> Curve {
        let recording = self.recording(which, index);
        recording.map_or_else(Curve::default, |recording| growth(recording, span.0, span.1, intervals))
    }

    fn recording(&self, which: Which, index: usize) -> Option<&Recording> {
        let finished = match which {
            Which::Last => &self.last,
            Which::Kept => &self.kept,
        };
        let recording = finished.as_ref()?.outcome.recordings.get(index);
        recording.filter(|recording| !recording.quantity.has_rows())
    }
}

fn read(text: &str, own: &Own) -> Result<Scenario, SpecError> {
    if text.len() > MAX_TEXT {
        return Err(SpecError {
            field: String::new(),
            value: format!("a text of {} bytes", text.len()),
            accepted: format!("at most {MAX_TEXT} bytes"),
            suggestion: None,
        });
    }
    limits::read(text, own)
}

/// Names of columns and rows of values.
fn table<T>(columns: &[(&str, Column<T>)], rows: &[T]) -> Value {
    let row = |row: &T| columns.iter().map(|(_, column)| column.json(row)).collect::<Value>();
    json!({
        "columns": columns.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "rows": rows.iter().map(row).collect::<Value>(),
    })
}

/// Entries of a journal as a table, with the units of the quantities of the congestion control.
fn explanation(journal: &Journal, mss: Option<u64>) -> Value {
    let names = journal.quantities.iter().map(|probe| probe.name);
    let of_quantities = names.clone().flat_map(|name| [format!("{name}_before"), name.to_owned()]);
    let columns = ENTRIES.iter().map(|(name, _)| (*name).to_owned()).chain(of_quantities);
    let row = |entry: &Entry| {
        let own = (0..journal.quantities.len()).flat_map(|index| {
            let value = |state: &Observation| json!(state.quantities.get(index).copied().flatten());
            [value(&entry.before), value(&entry.after)]
        });
        ENTRIES.iter().map(|(_, column)| cell(column, entry)).chain(own).collect::<Value>()
    };
    let units = journal.quantities.iter().map(|probe| (probe.name.to_owned(), json!(probe.unit)));
    json!({
        "columns": columns.collect::<Vec<_>>(),
        "rows": journal.entries.iter().map(row).collect::<Value>(),
        "quantities": units.collect::<serde_json::Map<_, _>>(),
        "mss": mss,
        "omitted": journal.omitted,
    })
}

/// A value of an entry; a number that is not finite is none.
fn cell(column: &columns::Column, entry: &Entry) -> Value {
    match column {
        columns::Column::Text(value) => json!(value(entry)),
        columns::Column::Whole(value) => json!(value(entry)),
        columns::Column::Real(value) => json!(value(entry).filter(|value| value.is_finite())),
        columns::Column::Flag(value) => json!(value(entry)),
    }
}

fn results(finished: &Finished) -> Value {
    let outcome = &finished.outcome;
    let trace = |recording: &Recording| {
        json!({
            "name": recording.name,
            "quantity": recording.quantity.name(),
            "samples": recording.times.len(),
            "has_rows": recording.quantity.has_rows(),
        })
    };
    json!({
        "scenario": outcome.scenario,
        "seed": outcome.seed.to_string(),
        "run": outcome.run.to_string(),
        "fingerprint": format!("{:016x}", outcome.fingerprint),
        "simulated_s": outcome.simulated_s,
        "events": outcome.events,
        "packets": outcome.conservation.delivered,
        "flows": table(FLOWS, &outcome.flows),
        "links": table(LINKS, &outcome.links),
        "traces": outcome.recordings.iter().map(trace).collect::<Value>(),
        "is_sampled": finished.watch == Watch::Periods,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        duration = "5 s"
        nodes = ["a", "b"]
        links = [{ name = "ab", from = "a", to = "b", rate = "2 Mbit/s", delay = "10 ms" },
                 { name = "ba", from = "b", to = "a", rate = "2 Mbit/s", delay = "10 ms" }]
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        tcp = "cubic"
        "#;

    fn finished(session: &mut Session, text: &str, watch: Watch) -> Value {
        session.begin(text, 1, 0, watch).expect("a scenario");
        loop {
            while !session.advance(5_000) {}
            let answer = session.finish();
            if answer["again"] != true {
                return answer;
            }
        }
    }

    fn index(answer: &Value, name: &str, quantity: &str) -> usize {
        let traces = answer["traces"].as_array().expect("traces");
        let place = traces.iter().position(|trace| trace["name"] == name && trace["quantity"] == quantity);
        place.expect("a trace")
    }

    #[test]
    fn a_run_in_slices_has_the_results_of_a_whole_one() {
        let mut session = Session::default();
        let answer = finished(&mut session, SCENARIO, Watch::Changes);
        let whole = dumbbell_sim::run(&Scenario::from_toml(SCENARIO).expect("a scenario"), 1, 0);
        assert_eq!(answer["fingerprint"], format!("{:016x}", whole.fingerprint));
        let columns = answer["flows"]["columns"].as_array().expect("columns");
        let goodput = columns.iter().position(|name| name == "goodput_bps").expect("a column");
        assert_eq!(answer["flows"]["rows"][0][goodput], json!(whole.flows[0].goodput_bps));
        assert_eq!(session.progress(), (0.0, 0));
    }

    #[test]
    fn an_error_has_its_field_and_the_text_its_places() {
        let text = SCENARIO.replace("cubic", "cubik");
        let answer = Session::default().check(&text);
        assert_eq!(
            (&answer["error"]["field"], &answer["error"]["suggestion"]),
            (&json!("flows.f.tcp"), &json!("cubic"))
        );
        let places = answer["outline"].as_array().expect("places");
        let place = places.iter().find(|place| place[0] == "flows.f.tcp").expect("the field");
        let at = |index: usize| place[index].as_u64().expect("an offset") as usize;
        assert_eq!(&text[at(4)..at(5)], r#""cubik""#);
        assert_eq!(
            Session::default().begin(&text, 1, 0, Watch::Nothing),
            Err(json!({ "error": answer["error"] }))
        );
        assert_eq!(Session::default().check("duration = ")["error"]["field"], "line 1");
    }

    #[test]
    fn a_valid_text_has_its_network_and_warnings() {
        let answer = Session::default().check(&SCENARIO.replace("tcp =", "start = \"6 s\"\ntcp ="));
        assert_eq!(answer["network"]["links"][0]["rate"], "2 Mbit/s");
        assert_eq!(answer["network"]["flow_count"], 1);
        assert_eq!(answer["warnings"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn goodput_is_the_growth_of_what_was_delivered() {
        let mut session = Session::default();
        let answer = finished(&mut session, SCENARIO, Watch::Changes);
        let delivered = index(&answer, "f", "delivered");
        let curve = session.growth(Which::Last, delivered, (0.0, 5.0), 10);
        let total: f64 = curve.values.iter().map(|value| value * 0.5).sum();
        let whole = dumbbell_sim::run(&Scenario::from_toml(SCENARIO).expect("a scenario"), 1, 0);
        assert!((total - whole.flows[0].bytes_delivered as f64).abs() < 1e-6, "{total}");
        assert_eq!(session.growth(Which::Kept, delivered, (0.0, 5.0), 10), Curve::default());
    }

    #[test]
    fn a_kept_run_stays_while_another_is_run() {
        let mut session = Session::default();
        let answer = finished(&mut session, SCENARIO, Watch::Changes);
        let cwnd = index(&answer, "f", "cwnd");
        let first = session.trace(Which::Last, cwnd, (0.0, 5.0), 0);
        session.keep();
        finished(&mut session, &SCENARIO.replace("cubic", "vegas"), Watch::Changes);
        assert_eq!(session.trace(Which::Kept, cwnd, (0.0, 5.0), 0), first);
        assert_ne!(session.trace(Which::Last, cwnd, (0.0, 5.0), 0), first);
        session.drop_kept();
        assert_eq!(session.trace(Which::Kept, cwnd, (0.0, 5.0), 0), Curve::default());
    }

    #[test]
    fn a_run_with_too_many_changes_is_sampled() {
        // The scenario's own probe leaves room for half a million samples of the page.
        let fast = SCENARIO.replace("2 Mbit/s", "1 Gbit/s").replace("10 ms", "1 ms");
        let text = format!("{fast}[[probes]]\nflows = [\"f\"]\nquantities = [\"srtt\"]\nperiod = \"2 us\"\n");
        let mut session = Session::default();
        let answer = finished(&mut session, &text, Watch::Changes);
        assert_eq!(answer["is_sampled"], true);
        let cwnd = index(&answer, "f", "cwnd");
        assert!((19_000..=20_001).contains(&answer["traces"][cwnd]["samples"].as_u64().expect("a number")));
    }

    #[test]
    fn a_run_beyond_the_limits_ends_with_a_message() {
        let probe = r#"
            [[probes]]
            flows = ["f"]
            quantities = ["cwnd"]
            period = "1 us"
            "#;
        let text = format!("{SCENARIO}{probe}");
        let answer = finished(&mut Session::default(), &text, Watch::Changes);
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.contains("the probes have recorded"), "{message}");
        let answer = Session::default().check(&"#".repeat(MAX_TEXT + 1));
        assert_eq!(answer["error"]["accepted"], "at most 1048576 bytes");
    }

    #[test]
    fn without_a_run_there_is_nothing_to_advance_or_finish() {
        let mut session = Session::default();
        assert!(session.advance(1));
        assert_eq!(session.finish()["error"]["message"], "there is no run to finish");
        session.begin(SCENARIO, 1, 0, Watch::Nothing).expect("a scenario");
        session.cancel();
        assert!(session.finish()["error"].is_object());
    }
}
