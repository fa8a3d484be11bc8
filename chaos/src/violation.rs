//! A scenario that breaks a check, as a file.

use crate::checks::text::without_nulls;
use crate::checks::{Check, try_checks};
use crate::exit::Exit;
use crate::generator::repair;
use crate::runner::Runner;
use dumbbell_sim::Scenario;
use dumbbell_units::Value;
use dumbbell_units::spec::SpecError;

/// The difference if a scenario breaks a check; `None` if the check holds or does not apply.
pub fn difference(value: &Value, seed_and_run: (u64, u64), check: &Check, runner: &Runner) -> Option<String> {
    let scenario = Scenario::from_value(value).ok()?;
    let tried = try_checks(&scenario, seed_and_run, runner, std::iter::once(check)).pop()?;
    match tried.verdict {
        Err(Exit::Broken(difference)) => Some(difference),
        _ => None,
    }
}

/// The text of a file with a scenario that breaks a check: the finding and how to repeat it, and the scenario in TOML.
pub fn written(
    value: &Value,
    (seed, run): (u64, u64),
    origin: &str,
    check: &Check,
    difference: &str,
) -> String {
    let scenario = toml::to_string(&without_nulls(value)).unwrap_or_else(|error| format!("# {error}\n"));
    let difference = difference.replace('\n', " ");
    format!(
        "# {name}: {about}\n# found: {origin}\n# differs: {difference}\n{SEED}{seed}, run: {run}\n# again: cargo run --profile chaos -p dumbbell-chaos -- check FILE --check {name}\n\n{scenario}",
        name = check.name,
        about = check.about,
    )
}

/// Begins the line with seed and run.
const SEED: &str = "# seed: ";

/// A scenario from a file, with the seed and the run in its comment; 1 and 0 if there are none.
pub fn read(text: &str) -> Result<(Value, (u64, u64)), SpecError> {
    // The parser of scenarios reports errors.
    let scenario = Scenario::from_toml(text)?;
    let mut value: Value = toml::from_str(text).unwrap_or_default();
    if repair(&mut value).is_none_or(|(read, _)| read != scenario) {
        value = dumbbell_units::spec::Field::encode(&scenario);
    }
    let stated = text.lines().find_map(|line| line.strip_prefix(SEED)?.split_once(", run: "));
    let stated = stated.and_then(|(seed, run)| Some((seed.parse().ok()?, run.parse().ok()?)));
    Ok((value, stated.unwrap_or((1, 0))))
}
