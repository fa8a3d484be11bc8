//! Every script of the simulator passes on a kernel whose rules it has.

use crate::harness::trees;
use dumbbell_kernel::guest::Start;
use dumbbell_kernel::host::LinuxHost;
use dumbbell_kernel::script::ScriptHost;
use dumbbell_script::{Script, Verdict, judge, scripts};
use std::path::Path;
use std::time::Duration;

/// Requests for connections are repeated otherwise there.
const EARLIER: &str = "6.1";

#[test]
fn every_script_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dumbbell-script/scripts");
    let paths = scripts(&folder).expect("the folder");
    for tree in trees().into_iter().filter(|tree| *tree != EARLIER) {
        let kernels = LinuxHost::user().kernels();
        let kernel = kernels.iter().find(|kernel| kernel.is(tree)).expect("it is built");
        let start = Start { kernel: kernel.as_ref(), seed: 1, limit: Duration::from_secs(60) };
        let failures: Vec<String> = paths
            .iter()
            .filter_map(|path| {
                let text = std::fs::read_to_string(path).expect("a script");
                let verdict =
                    judge(&text, path.parent(), |script: &Script| ScriptHost::start(&start, script));
                (verdict != Verdict::Passed).then(|| format!("{}: {verdict}", path.display()))
            })
            .collect();
        let (failed, all) = (failures.len(), paths.len());
        assert!(failures.is_empty(), "{tree}: {failed} of {all} scripts:\n{}", failures.join("\n"));
    }
}
