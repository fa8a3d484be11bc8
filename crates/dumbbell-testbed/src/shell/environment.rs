//! The environment of a program behind a link. Variables of the invoking process are passed on only if they are listed here
//! or stated: that process is root's, and its variables may hold its secrets.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// An environment variable: its name and value.
pub type Variable = (OsString, OsString);

/// Variables that are passed on: what the terminal can do, languages, and where programs are.
const PASSED: [&str; 3] = ["TERM", "LANG", "PATH"];

/// The beginning of further ones, those of languages.
const PASSED_PREFIX: &[u8] = b"LC_";

/// `PATH` if the invoking process has none.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables that the program has from the invoking process, and those that options state.
///
/// # Errors
///
/// An option is not `NAME` or `NAME=VALUE`, or the invoking process has no such variable. The text says what is accepted.
pub fn passed_on(
    stated: &[OsString],
    invoking: impl Iterator<Item = Variable>,
) -> Result<Vec<Variable>, String> {
    let invoking: Vec<Variable> = invoking.collect();
    let is_listed = |name: &OsStr| {
        PASSED.iter().any(|passed| name == *passed) || name.as_bytes().starts_with(PASSED_PREFIX)
    };
    let mut variables = vec![("PATH".into(), PATH.into())];
    variables.extend(invoking.iter().filter(|(name, _)| is_listed(name)).cloned());
    for option in stated {
        let bytes = option.as_bytes();
        let equals = bytes.iter().position(|&byte| byte == b'=');
        let name = OsStr::from_bytes(&bytes[..equals.unwrap_or(bytes.len())]);
        let refused =
            |accepted: &str| format!("--env: \"{}\" is not accepted; expected {accepted}", option.display());
        if name.is_empty() {
            return Err(refused("NAME=VALUE, or the NAME of a variable of the invoking process"));
        }
        let value = match equals {
            Some(place) => Some(OsStr::from_bytes(&bytes[place + 1..]).to_owned()),
            None => invoking.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone()),
        };
        let value = value.ok_or_else(|| refused("a variable of the invoking process, or NAME=VALUE"))?;
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(stated: &[&str]) -> Result<Vec<(String, String)>, String> {
        let text = |variable: OsString| variable.into_string().expect("text");
        let invoking = [("PATH", "/bin"), ("LC_ALL", "C"), ("LANGUAGES", "x"), ("SECRET", "s=1")];
        let invoking = invoking.map(|(name, value)| (name.into(), value.into()));
        let stated: Vec<OsString> = stated.iter().map(OsString::from).collect();
        let variables = passed_on(&stated, invoking.into_iter())?;
        // The first one is the default of `PATH`, which the next replaces.
        Ok(variables.into_iter().skip(1).map(|(name, value)| (text(name), text(value))).collect())
    }

    #[test]
    fn only_listed_and_stated_variables_are_passed_on() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let listed = [pair("PATH", "/bin"), pair("LC_ALL", "C")];
        assert_eq!(passed(&[]), Ok(listed.to_vec()));
        let stated = [pair("SECRET", "s=1"), pair("A", ""), pair("B", "c=d")];
        assert_eq!(passed(&["SECRET", "A=", "B=c=d"]), Ok([&listed[..], &stated[..]].concat()));
    }

    #[test]
    fn an_unknown_variable_is_refused() {
        for option in ["MISSING", "", "=x"] {
            let error = passed(&[option]).expect_err("a refusal");
            assert!(error.starts_with(&format!("--env: \"{option}\" is not accepted; expected ")), "{error}");
        }
    }
}
