//! The eBPF twins of a run: registered with the kernel as long as it lasts, and asked for their probes.
//!
//! Compiling twins needs clang, so they are a feature of their own. Without it, the kernel's own congestion controls
//! remain.

use crate::error::RunError;
use crate::plan::{Control, FlowPlan, Plan};
use crate::sample::Samples;
use crate::traffic::Course;
use dumbbell_units::Time;

#[cfg(not(feature = "twins"))]
use absent as registered;

/// A value of a probe that a congestion control reported: its time, flow, name and value.
pub type Reported = (Time, usize, String, f64);

/// The registered twins of a run.
#[derive(Debug)]
pub struct Twins<'a>(registered::Twins<'a>);

impl<'a> Twins<'a> {
    /// Registers each twin of a plan once for each of its settings.
    ///
    /// # Errors
    ///
    /// The kernel does not accept a twin, there is no control group for queueing times, or twins were not built.
    pub fn register(plan: &'a Plan, samples: &Samples, run: u64) -> Result<Twins<'a>, RunError> {
        registered::Twins::register(plan, samples, run).map(Twins)
    }

    /// The name of a flow's congestion control in the kernel; `None` for datagrams. `index` is that of the flow.
    pub fn name(&self, flow: &FlowPlan, index: usize) -> Option<String> {
        match &flow.tcp.as_ref()?.control {
            Control::Kernel(name) => Some(name.clone()),
            Control::Twin(..) => self.0.name(flow, index),
        }
    }

    /// What probes have reported since the last call.
    ///
    /// # Errors
    ///
    /// The records cannot be read.
    pub fn reports(&self, course: &Course) -> Result<Vec<Reported>, RunError> {
        self.0.reports(course)
    }
}

/// Registers one twin, and removes it again.
///
/// # Errors
///
/// The reason why the kernel does not accept it, or that twins were not built.
pub fn try_one() -> Result<String, String> {
    registered::try_one()
}

/// Registers every twin, one after the other, and removes it again; says which ones the kernel accepts. One with queueing
/// times is left out without control groups.
///
/// # Errors
///
/// The reason why the kernel does not accept one of them, or that twins were not built.
pub fn try_all() -> Result<String, String> {
    registered::try_all()
}

#[cfg(not(feature = "twins"))]
mod absent {
    use super::{Course, FlowPlan, Plan, Reported, RunError, Samples};
    use std::marker::PhantomData;

    const REASON: &str = "built without the eBPF twins";

    #[derive(Debug)]
    pub struct Twins<'a>(PhantomData<&'a Plan>);

    impl<'a> Twins<'a> {
        pub fn register(plan: &'a Plan, _samples: &Samples, _run: u64) -> Result<Twins<'a>, RunError> {
            match plan.flows.iter().find_map(FlowPlan::twin) {
                None => Ok(Twins(PhantomData)),
                Some((twin, _)) => Err(RunError::Missing(format!(
                    "the testbed cannot run {}: it was {REASON}; build it with the feature twins, which needs clang",
                    twin.name()
                ))),
            }
        }

        pub fn name(&self, _flow: &FlowPlan, _index: usize) -> Option<String> {
            None
        }

        pub fn reports(&self, _course: &Course) -> Result<Vec<Reported>, RunError> {
            Ok(Vec::new())
        }
    }

    pub fn try_one() -> Result<String, String> {
        Err(REASON.to_owned())
    }

    pub fn try_all() -> Result<String, String> {
        try_one()
    }
}

#[cfg(feature = "twins")]
mod registered {
    use super::{Course, FlowPlan, Plan, Reported, RunError, Samples};
    use crate::control_group::ControlGroup;
    use crate::plan::FIRST_PORT;
    use dumbbell_bpf::Twin;
    use dumbbell_bpf::loader::{LoadError, Options, RUNS, Registration};
    use dumbbell_units::spec::Members;
    use std::path::Path;

    /// A registration with what distinguishes it.
    #[derive(Debug)]
    struct Registered<'a> {
        twin: Twin,
        settings: &'a Members,
        is_probing: bool,
        registration: Registration,
    }

    #[derive(Debug)]
    pub struct Twins<'a> {
        registered: Vec<Registered<'a>>,
        /// Left after the registrations that are attached to it.
        _group: Option<ControlGroup>,
        /// Whether each flow has probes of its congestion control.
        probing: Vec<bool>,
    }

    impl<'a> Twins<'a> {
        pub fn register(plan: &'a Plan, samples: &Samples, run: u64) -> Result<Twins<'a>, RunError> {
            let needs_group = plan.flows.iter().any(|flow| flow.tcp.as_ref().is_some_and(|tcp| tcp.aqt));
            let made = needs_group.then(ControlGroup::new).transpose();
            let group =
                made.map_err(|error| RunError::Missing(format!("cannot make a control group: {error}")))?;
            let probing = (0..plan.flows.len()).map(|flow| samples.asks_control(flow)).collect();
            let mut twins = Twins { registered: Vec::new(), _group: None, probing };
            for (index, flow) in plan.flows.iter().enumerate() {
                let Some((twin, settings)) = flow.twin() else { continue };
                if twins.find(flow, index).is_some() {
                    continue;
                }
                let is_probing = twins.probing[index];
                let options = Options {
                    settings: settings.clone(),
                    run: 0,
                    is_probing,
                    control_group: group.as_ref().map(ControlGroup::folder),
                };
                let failed = |error| RunError::Failed(format!("the eBPF twin {}: {error}", twin.name()));
                let registration = free(twin, options, run).map_err(failed)?;
                twins.registered.push(Registered { twin, settings, is_probing, registration });
            }
            Ok(Twins { _group: group, ..twins })
        }

        fn find(&self, flow: &FlowPlan, index: usize) -> Option<&Registered<'a>> {
            let (twin, settings) = flow.twin()?;
            let is_it = |known: &&Registered<'_>| {
                known.twin == twin && known.settings == settings && known.is_probing == self.probing[index]
            };
            self.registered.iter().find(is_it)
        }

        pub fn name(&self, flow: &FlowPlan, index: usize) -> Option<String> {
            self.find(flow, index).map(|known| known.registration.name().to_owned())
        }

        pub fn reports(&self, course: &Course) -> Result<Vec<Reported>, RunError> {
            let mut reported = Vec::new();
            for Registered { registration, .. } in self.registered.iter().filter(|known| known.is_probing) {
                let names: Vec<&str> = registration.probes().map(|probe| probe.name.as_str()).collect();
                let records = registration.take_records();
                for record in records.map_err(|error| RunError::Failed(error.to_string()))? {
                    // Ports of receivers are numbered like flows.
                    let flow = usize::from(record.remote_port.wrapping_sub(FIRST_PORT));
                    let at = course.clock.since_start(record.at_ns);
                    let values = names.iter().zip(&record.values);
                    let values = values.filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?)));
                    reported.extend(values.map(|(name, value)| (at, flow, name, value)));
                }
            }
            Ok(reported)
        }
    }

    /// Registers a twin under a name that is free. Runs side by side begin to look at different numbers.
    fn free(twin: Twin, options: Options<'_>, run: u64) -> Result<Registration, LoadError> {
        let begin = run.wrapping_add(u64::from(std::process::id())) % u64::from(RUNS);
        let mut number = begin as u16;
        loop {
            let registered = Registration::of_twin(twin, &Options { run: number, ..options.clone() });
            number = (number + 1) % RUNS;
            match registered {
                Err(LoadError::Taken(_)) if u64::from(number) != begin => {}
                other => return other,
            }
        }
    }

    pub fn try_one() -> Result<String, String> {
        let twin = Twin::named("reno").ok_or("there is no twin of reno")?;
        try_out(twin, None).map(|()| format!("accepts {}", twin.name()))
    }

    pub fn try_all() -> Result<String, String> {
        let group = ControlGroup::new().ok();
        let mut accepted = Vec::new();
        for twin in Twin::all() {
            // `missing` says that control groups are missing.
            if group.is_some() || !twin.needs_control_group() {
                try_out(twin, group.as_ref().map(ControlGroup::folder))?;
                accepted.push(twin.name());
            }
        }
        Ok(format!("accepts {}", accepted.join(", ")))
    }

    fn try_out(twin: Twin, control_group: Option<&Path>) -> Result<(), String> {
        let options = Options { control_group, ..Options::default() };
        // The first line is the reason; the others are those of the verifier.
        let reason = |error: LoadError| error.to_string().lines().next().unwrap_or_default().to_owned();
        let registered = free(twin, options, 0);
        registered.map(drop).map_err(|error| format!("{}: {}", twin.name(), reason(error)))
    }
}
