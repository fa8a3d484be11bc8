//! Scripts of segments on the simulator and on kernels, and what both have in common.

use dumbbell_script::{
    Difference, KINDS, Kind, Script, Simulator, Verdict, compare, judge, minimize, scripts,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;

/// What became of a script: `passed`, `failed` or `not expressible`, its line, and why.
type Told = (&'static str, usize, String);

/// The first difference: `state` or `segment`, its line in the script, and what differs.
type Differs = Option<(&'static str, usize, String)>;

/// The names of the kinds of conversations, each with a sentence.
#[pyfunction]
pub fn script_kinds() -> Vec<(&'static str, &'static str)> {
    KINDS.iter().map(|kind| (kind.name, kind.summary)).collect()
}

/// The scripts in a folder and those below it, or the script itself.
#[pyfunction]
pub fn script_files(path: PathBuf) -> PyResult<Vec<PathBuf>> {
    scripts(&path).map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
}

/// Plays the text of the script in a file on the simulator with the rules of Linux, or on a kernel that is built. Files that
/// its commands name are found beside it.
#[pyfunction]
#[pyo3(signature = (text, path, tree=None))]
pub fn play_script(py: Python<'_>, text: &str, path: PathBuf, tree: Option<&str>) -> Told {
    let folder = path.parent();
    let verdict = py.detach(|| match tree {
        None => judge(text, folder, Simulator::new),
        Some(tree) => judge(text, folder, |script| kernel::host(tree, script)),
    });
    match verdict {
        Verdict::Passed => ("passed", 0, String::new()),
        Verdict::Failed(failure) => ("failed", failure.line, failure.message),
        Verdict::NotExpressible(failure) => ("not expressible", failure.line, failure.message),
    }
}

/// Lets a host have the conversation of a kind and a seed, and plays it on the other one: the first difference, the number of
/// events, and the script. If `least` is set, the conversation is reduced to what the difference needs.
#[pyfunction]
pub fn compare_segments(
    py: Python<'_>,
    kind: &str,
    seed: u64,
    tree: &str,
    from_kernel: bool,
    least: bool,
) -> PyResult<(Differs, usize, String)> {
    let kind = Kind::named(kind).ok_or_else(|| PyValueError::new_err(format!("{kind}: no such kind")))?;
    py.detach(|| {
        let theirs = |script: &Script| kernel::host(tree, script);
        let compared = |conditions: &_| {
            if from_kernel { compare(conditions, theirs, ours) } else { compare(conditions, ours, theirs) }
        };
        let mut conditions = kind.conditions(seed);
        if least {
            let is_segment =
                |difference: &Option<Difference>| matches!(difference, Some(Difference::Segment(_)));
            let whole = compared(&conditions)?.difference;
            conditions = minimize(&conditions, |candidate| {
                compared(candidate).is_ok_and(|compared| {
                    compared.difference.is_some() && is_segment(&compared.difference) == is_segment(&whole)
                })
            });
        }
        let compared = compared(&conditions)?;
        let differs = compared.difference.map(|difference| match difference {
            Difference::State(failure) => ("state", failure.line, failure.message),
            Difference::Segment(failure) => ("segment", failure.line, failure.message),
        });
        Ok((differs, compared.script.events.len(), compared.script.to_string()))
    })
    .map_err(PyValueError::new_err::<String>)
}

/// The sender of the simulator with the ticks of the kernels that are built here.
fn ours(script: &Script) -> Result<Simulator, String> {
    Simulator::with(script, json!({ "rules": "linux", "congestion": "cubic", "hz": 1000 }))
}

#[cfg(target_os = "linux")]
mod kernel {
    use dumbbell_kernel::script::ScriptHost;
    use dumbbell_script::Script;

    pub fn host(tree: &str, script: &Script) -> Result<ScriptHost, String> {
        ScriptHost::on(tree, script)
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use dumbbell_script::{Script, Simulator};

    pub fn host(_: &str, _: &Script) -> Result<Simulator, String> {
        Err("kernels run on Linux alone".into())
    }
}
