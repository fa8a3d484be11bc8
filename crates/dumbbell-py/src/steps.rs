//! Runs that pause between steps for an agent: the engine's side of `dumbbell.gym`. A step advances all of them on
//! threads, with the interpreter's lock released.

use crate::agent::{Agent, AgentHost, COLUMNS, Lever, Row};
use crate::control::Fault;
use crate::hosts::Hosts;
use crate::many::internal_error;
use crate::scenario::PyStated;
use dumbbell_sim::{Scenario, Stated, Steps};
use dumbbell_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Length of a step in round trips before the first sample of one, in seconds.
const FIRST_RTT: f64 = 0.1;

/// Shortest step in round trips.
const SHORTEST: Time = Time(1_000_000);

/// When a step ends.
#[derive(Clone, Copy, Debug)]
enum Pause {
    After(Time),
    /// After so many smoothed round-trip times.
    Rtts(f64),
    /// With the next acknowledgement.
    Ack,
}

self_cell::self_cell!(
    /// A run and its scenario.
    struct Running {
        owner: Scenario,
        #[not_covariant]
        dependent: Steps,
    }
);

/// A run with a flow that an agent steers.
struct Episode {
    running: Running,
    agent: Agent,
    /// Position of its flow.
    flow: usize,
    /// Stops the run, with the exception of another flow's control in Python.
    fault: Arc<Fault>,
    /// The error message of a failed engine.
    failure: Option<String>,
}

impl Episode {
    fn new(stated: Stated, flow: &str, hosts: &Hosts, seed: u64) -> PyResult<Self> {
        let agent = Agent::default();
        let scenario = hosts.bind(stated, &[&AgentHost(agent.clone())])?;
        let place = scenario.flows.iter().position(|one| one.name == flow);
        let place = place.ok_or_else(|| PyValueError::new_err(format!("no flow is named {flow}")))?;
        let running = Running::new(scenario, |scenario| Steps::new(scenario, seed, 0));
        Ok(Episode { running, agent, flow: place, fault: Arc::clone(hosts.fault()), failure: None })
    }

    /// Runs to the first acknowledgement of the flow, and one step further.
    fn begin(&mut self, pause: Pause) -> Row {
        let first = self.step(Pause::Ack);
        if matches!(pause, Pause::Ack) { first } else { self.step(pause) }
    }

    fn step(&mut self, pause: Pause) -> Row {
        let stepped = catch_unwind(AssertUnwindSafe(|| self.advance(pause)));
        stepped.unwrap_or_else(|panic| {
            self.failure = Some(crate::many::message(&*panic));
            [f64::NAN; COLUMNS.len()]
        })
    }

    fn advance(&mut self, pause: Pause) -> Row {
        let (agent, flow, stop) = (&self.agent, self.flow, &self.fault.stop);
        self.running.with_dependent_mut(|_, steps| {
            let began = steps.now();
            match pause {
                Pause::After(time) => {
                    steps.run_until(stop, began + time);
                }
                Pause::Rtts(count) => {
                    let length = Time::from_secs(count * agent.srtt().unwrap_or(FIRST_RTT));
                    steps.run_until(stop, began + length.max(SHORTEST));
                }
                Pause::Ack => {
                    while !steps.is_over() && !steps.has_ended(flow) && !agent.has_ack() {
                        if steps.run_next(stop).is_none() {
                            break;
                        }
                    }
                }
            }
            let mut row = agent.close(began, steps.now());
            let has_ended = steps.has_ended(flow);
            row[COLUMNS.len() - 2] = f64::from(u8::from(has_ended));
            row[COLUMNS.len() - 1] = f64::from(u8::from(steps.is_over() && !has_ended));
            row
        })
    }

    /// The exception of a control in Python, or that of a failed engine.
    fn error(&mut self) -> Option<PyErr> {
        self.failure.take().map(|text| internal_error(&text)).or_else(|| self.fault.take())
    }
}

/// Several runs, each with a flow that an agent steers.
#[pyclass(module = "dumbbell._engine")]
pub struct Episodes {
    flow: String,
    pause: Pause,
    lever: Lever,
    factor: f64,
    threads: usize,
    controls: Option<Py<PyAny>>,
    episodes: Vec<Option<Episode>>,
}

#[pymethods]
impl Episodes {
    /// Names of the values of an interval, in order.
    #[classattr]
    #[allow(non_snake_case, reason = "a constant of the class")]
    fn COLUMNS() -> Vec<&'static str> {
        COLUMNS.to_vec()
    }

    #[new]
    #[pyo3(signature = (count, flow, *, interval_ns, rtts, paces, factor, threads, controls=None))]
    #[allow(clippy::too_many_arguments, reason = "arguments of Python, most by name")]
    fn new(
        count: usize,
        flow: String,
        interval_ns: Option<u64>,
        rtts: Option<f64>,
        paces: bool,
        factor: f64,
        threads: usize,
        controls: Option<Py<PyAny>>,
    ) -> Self {
        let pause = match (interval_ns, rtts) {
            (Some(interval), _) => Pause::After(Time(interval)),
            (None, Some(rtts)) => Pause::Rtts(rtts),
            (None, None) => Pause::Ack,
        };
        Episodes {
            flow,
            pause,
            lever: if paces { Lever::Rate } else { Lever::Window },
            factor,
            threads,
            controls,
            episodes: (0..count).map(|_| None).collect(),
        }
    }

    /// Begin runs anew at some places, and run each through its first interval. Return the intervals as `float64`.
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        places: Vec<usize>,
        scenarios: Vec<Bound<'py, PyStated>>,
        seeds: Vec<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        for ((&place, scenario), &seed) in places.iter().zip(&scenarios).zip(&seeds) {
            let hosts = Hosts::new(self.controls.as_ref().map(|find| find.clone_ref(py)));
            let episode = Episode::new(scenario.get().0.clone(), &self.flow, &hosts, seed)?;
            *self.place(place)? = Some(episode);
        }
        self.advance(py, &places, &vec![None; places.len()], Episode::begin)
    }

    /// Multiply the window or the rate of the runs at some places by a power of the factor, and run each for a step. Return
    /// the intervals as `float64`.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        places: Vec<usize>,
        actions: Vec<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let actions: Vec<Option<f64>> = actions.into_iter().map(Some).collect();
        self.advance(py, &places, &actions, Episode::step)
    }
}

impl Episodes {
    fn place(&mut self, place: usize) -> PyResult<&mut Option<Episode>> {
        let error = || PyValueError::new_err(format!("there is no run at place {place}"));
        self.episodes.get_mut(place).ok_or_else(error)
    }

    /// Acts on the runs at some places and advances each.
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        places: &[usize],
        actions: &[Option<f64>],
        step: impl Fn(&mut Episode, Pause) -> Row + Sync,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut wanted: Vec<Option<usize>> = vec![None; self.episodes.len()];
        for (index, &place) in places.iter().enumerate() {
            self.place(place)?;
            wanted[place] = Some(index);
        }
        let mut rows = vec![[f64::NAN; COLUMNS.len()]; places.len()];
        let (pause, lever, factor, threads) = (self.pause, self.lever, self.factor, self.threads);
        let chosen: Vec<(usize, &mut Episode)> = self
            .episodes
            .iter_mut()
            .zip(&wanted)
            .filter_map(|(episode, &index)| Some((index?, episode.as_mut()?)))
            .collect();
        let done = Mutex::new(&mut rows);
        py.detach(|| {
            on_threads(threads, chosen, |(index, episode)| {
                if let Some(&Some(action)) = actions.get(index) {
                    episode.agent.act(lever, factor, action);
                }
                let row = step(episode, pause);
                done.lock().unwrap_or_else(PoisonError::into_inner)[index] = row;
            });
        });
        let error = places.iter().find_map(|&place| self.episodes[place].as_mut().and_then(Episode::error));
        match error {
            Some(error) => Err(error),
            None => {
                let bytes: Vec<u8> =
                    rows.as_flattened().iter().flat_map(|value| value.to_ne_bytes()).collect();
                Ok(PyBytes::new(py, &bytes))
            }
        }
    }
}

/// Works off items on so many threads, one of which is the caller's.
fn on_threads<T: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) + Sync) {
    let others = threads.min(items.len()).saturating_sub(1);
    let left = Mutex::new(items.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work_off = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..others {
            // Without a further thread, the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work_off);
        }
        work_off();
    });
}
