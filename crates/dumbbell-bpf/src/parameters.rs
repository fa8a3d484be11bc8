//! The parameters of a twin: whole numbers in a stated scale, and their values as a scenario writes them.

use dumbbell_units::spec::{Field, Members, Node, SpecError, near_miss};
use dumbbell_units::{Time, Value};

/// What the whole number 1 stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// 0.001 of the twin's unit.
    Thousandths,
    /// A microsecond.
    Microseconds,
    /// A bit per second.
    BitsPerSecond,
    /// True.
    Flag,
    /// The second of these names; 0 is the first.
    Choice(Vec<String>),
}

impl Scale {
    /// The scale that the name of a type in `bpf/toolbox.h` states.
    pub fn of_type(name: &str) -> Option<Scale> {
        match name {
            "thousandths" => Some(Scale::Thousandths),
            "microseconds" => Some(Scale::Microseconds),
            "bits_per_second" => Some(Scale::BitsPerSecond),
            "flag" => Some(Scale::Flag),
            _ => None,
        }
    }

    /// The scale of an enum with this name and these enumerators: `rtt_choice_mean` of `rtt_choice` is `mean`.
    pub fn of_enum<'a>(name: &str, enumerators: impl Iterator<Item = &'a str>) -> Scale {
        let choice = |enumerator: &str| {
            let own = enumerator.strip_prefix(name).map_or(enumerator, |own| own.trim_start_matches('_'));
            own.replace('_', "-")
        };
        Scale::Choice(enumerators.map(choice).collect())
    }

    /// The number in the unit of the algorithm's parameter or probe: segments, seconds, bit/s.
    pub fn real(&self, number: i64) -> f64 {
        let number = number as f64;
        match self {
            Scale::Thousandths => number / 1e3,
            Scale::Microseconds => number / 1e6,
            Scale::BitsPerSecond | Scale::Flag | Scale::Choice(_) => number,
        }
    }

    /// The value as a scenario writes it.
    pub fn value(&self, number: i64) -> Value {
        match self {
            Scale::Thousandths => Value::from(self.real(number)),
            Scale::Microseconds => Time(number.unsigned_abs() * 1000).encode(),
            Scale::BitsPerSecond => Value::from(number),
            Scale::Flag => Value::from(number != 0),
            Scale::Choice(names) => {
                let index = usize::try_from(number).unwrap_or(usize::MAX);
                names.get(index).map_or(Value::Null, |name| Value::from(name.as_str()))
            }
        }
    }

    /// The number that a value of a scenario stands for; `None` if this scale cannot hold it.
    fn number(&self, value: &Value) -> Option<i64> {
        match self {
            Scale::Thousandths => {
                let thousandths = value.as_f64()? * 1e3;
                let whole = (thousandths + 0.5).floor();
                // A fraction such as 0.68 is inexact in itself, far below a thousandth.
                ((thousandths - whole).abs() < 1e-6 && whole.abs() < 1e15).then_some(whole as i64)
            }
            Scale::Microseconds => {
                let time = Time::decode(&Node::root(value)).ok()?;
                (time.0 % 1000 == 0).then_some(i64::try_from(time.0 / 1000).ok()?)
            }
            Scale::BitsPerSecond => value.as_i64(),
            Scale::Flag => value.as_bool().map(i64::from),
            Scale::Choice(names) => {
                let name = value.as_str()?;
                names.iter().position(|known| known == name).and_then(|index| i64::try_from(index).ok())
            }
        }
    }
}

/// A parameter that a twin declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, as in the algorithm's declaration, or as the switch in `Mechanisms`.
    pub name: String,
    /// What its numbers stand for.
    pub scale: Scale,
    /// Default.
    pub default: i64,
    /// Smallest accepted number.
    pub least: i64,
    /// Largest accepted number.
    pub most: i64,
    /// The letter, if it is a mechanism of Vegas.
    pub mechanism: Option<String>,
}

impl Parameter {
    /// The accepted values, as text for users.
    pub fn accepted(&self) -> String {
        let (least, most) = (self.scale.value(self.least), self.scale.value(self.most));
        match &self.scale {
            Scale::Thousandths => format!("a multiple of 0.001 from {least} to {most}"),
            Scale::Microseconds => format!("a time of whole microseconds from {least} to {most}"),
            Scale::BitsPerSecond => format!("a whole number from {least} to {most}"),
            Scale::Flag => "true or false".to_owned(),
            Scale::Choice(names) => format!("one of {}", names.join(", ")),
        }
    }

    /// The number that a value of a scenario stands for. An error states the accepted values, and for a misspelt choice
    /// the nearest one.
    pub fn number(&self, value: &Value) -> Result<i64, SpecError> {
        let number = self.scale.number(value).filter(|number| (self.least..=self.most).contains(number));
        number.ok_or_else(|| {
            let suggestion = match (&self.scale, value.as_str()) {
                (Scale::Choice(names), Some(name)) => near_miss(name, &borrowed(names)),
                _ => None,
            };
            SpecError {
                field: self.name.clone(),
                value: value.to_string(),
                accepted: self.accepted(),
                suggestion,
            }
        })
    }
}

/// A probe that a twin declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Name, as in the algorithm's declaration.
    pub name: String,
    /// What its numbers stand for.
    pub scale: Scale,
}

fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// The numbers that the settings of a scenario give to parameters, by index in `parameters`. An error states the
/// parameter, what is accepted, and the nearest name for an unknown one.
pub fn numbers(parameters: &[Parameter], settings: &Members) -> Result<Vec<(usize, i64)>, SpecError> {
    let number = |(name, value): (&String, &Value)| {
        let Some(index) = parameters.iter().position(|parameter| parameter.name == *name) else {
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            let accepted = if names.is_empty() {
                "no parameters".to_owned()
            } else {
                format!("one of {}", names.join(", "))
            };
            return Err(SpecError {
                field: name.clone(),
                value: "this parameter".to_owned(),
                accepted,
                suggestion: near_miss(name, &names),
            });
        };
        Ok((index, parameters[index].number(value)?))
    };
    settings.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, scale: Scale, least: i64, most: i64) -> Parameter {
        Parameter { name: name.into(), scale, default: least, least, most, mechanism: None }
    }

    fn examples() -> Vec<Parameter> {
        let choice = Scale::Choice(vec!["mean".into(), "in-transit".into()]);
        vec![
            parameter("epsilon", Scale::Thousandths, 1, 1000),
            parameter("tau", Scale::Microseconds, 1, 5_000_000),
            parameter("clamp", Scale::Flag, 0, 1),
            parameter("rtt", choice, 0, 1),
        ]
    }

    fn set(name: &str, value: impl Into<Value>) -> Result<Vec<(usize, i64)>, SpecError> {
        numbers(&examples(), &Members::from_iter([(name.to_owned(), value.into())]))
    }

    #[test]
    fn values_become_whole_numbers_in_their_scale() {
        // 0.68 * 1000, 1.5 s in microseconds.
        assert_eq!(set("epsilon", 0.68), Ok(vec![(0, 680)]));
        assert_eq!(set("epsilon", 1), Ok(vec![(0, 1000)]));
        assert_eq!(set("tau", "1.5 s"), Ok(vec![(1, 1_500_000)]));
        assert_eq!(set("clamp", true), Ok(vec![(2, 1)]));
        assert_eq!(set("rtt", "in-transit"), Ok(vec![(3, 1)]));
    }

    #[test]
    fn numbers_become_the_same_values_again() {
        for (parameter, number) in examples().iter().zip([680, 1_500_000, 1, 1]) {
            assert_eq!(parameter.number(&parameter.scale.value(number)), Ok(number), "{}", parameter.name);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest_one() {
        let error = set("epsilom", 0.5).expect_err("a misspelt name");
        assert_eq!(error.suggestion.as_deref(), Some("epsilon"));
        let error = set("rtt", "meen").expect_err("a misspelt choice");
        assert_eq!(error.suggestion.as_deref(), Some("mean"));
        assert_eq!(error.accepted, "one of mean, in-transit");
    }

    #[test]
    fn values_out_of_range_and_between_two_numbers_are_refused() {
        for (name, value) in [
            ("epsilon", Value::from(1.001)),
            ("epsilon", Value::from(0)),
            ("epsilon", Value::from(0.6802)),
            ("epsilon", Value::from("0.5")),
            ("tau", Value::from("10 s")),
            ("tau", Value::from("1500 ns")),
            ("clamp", Value::from(1)),
        ] {
            let error = set(name, value.clone()).expect_err("a value that is refused");
            assert_eq!((error.field.as_str(), error.value), (name, value.to_string()));
        }
        let error = set("epsilon", 2.0).expect_err("a value above its range");
        assert_eq!(error.accepted, "a multiple of 0.001 from 0.001 to 1.0");
    }
}
