//! Scripts as text, which reads as the same script.

use crate::expression::{Expression, Operator, Statement};
use crate::script::{Action, Argument, Call, Event, Flags, Moment, Script, Segment, TcpOption};
use dumbbell_units::{Ecn, Time};
use std::fmt::{Display, Formatter, Result};

impl Display for Script {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for (name, value) in &self.options {
            let sign = if value.is_empty() { "" } else { "=" };
            writeln!(out, "--{name}{sign}{value}")?;
        }
        for command in &self.setup {
            writeln!(out, "`{command}`")?;
        }
        for event in &self.events {
            writeln!(out, "{event}")?;
        }
        for command in &self.cleanup {
            writeln!(out, "`{command}`")?;
        }
        Ok(())
    }
}

impl Display for Event {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{}", self.at)?;
        if let (Action::Call(Call { blocks: Some(duration), .. }), Moment::At(begin) | Moment::After(begin)) =
            (&self.action, self.at)
        {
            write!(out, "...{}", Seconds(begin + *duration))?;
        }
        write!(out, " ")?;
        match &self.action {
            Action::Call(call) => write!(out, "{call}"),
            Action::Inbound(segment) => write!(out, "< {segment}"),
            Action::Outbound(segment) => write!(out, "> {segment}"),
            Action::Command(command) => write!(out, "`{command}`"),
            Action::Check(statements) => {
                write!(out, "%{{ {} }}%", joined(statements, "; "))
            }
        }
    }
}

impl Display for Moment {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match *self {
            Moment::At(time) => write!(out, "{}", Seconds(time)),
            Moment::After(time) => write!(out, "+{}", Seconds(time)),
            Moment::Between(from, until) => write!(out, "{}~{}", Seconds(from), Seconds(until)),
            Moment::AfterBetween(from, until) => write!(out, "+{}~+{}", Seconds(from), Seconds(until)),
            Moment::Any => write!(out, "*"),
        }
    }
}

/// A time without zeros at its end.
struct Seconds(Time);

impl Display for Seconds {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let Time(nanoseconds) = self.0;
        let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        if rest == 0 {
            return write!(out, "{whole}");
        }
        write!(out, "{whole}.{}", format!("{rest:09}").trim_end_matches('0'))
    }
}

impl Display for Flags {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let Flags { syn, fin, rst, psh, ack, ece, cwr } = *self;
        if *self == Flags::default() {
            return write!(out, "-");
        }
        let letters = [(syn, 'S'), (fin, 'F'), (rst, 'R'), (psh, 'P'), (ece, 'E'), (cwr, 'W'), (ack, '.')];
        letters.iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, letter)| write!(out, "{letter}"))
    }
}

impl Display for Segment {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let Segment { flags, ecn, seq, len, ack, window, options } = self;
        match ecn {
            None => {}
            Some(Ecn::NotEct) => write!(out, "[noecn] ")?,
            Some(Ecn::Ect0) => write!(out, "[ect0] ")?,
            Some(Ecn::Ect1) => write!(out, "[ect1] ")?,
            Some(Ecn::Ce) => write!(out, "[ce] ")?,
        }
        write!(out, "{flags} {seq}:{}({len})", seq + len)?;
        if let Some(ack) = ack {
            write!(out, " ack {ack}")?;
        }
        if let Some(window) = window {
            write!(out, " win {window}")?;
        }
        match options {
            None => write!(out, " <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => write!(out, " <{}>", joined(options, ",")),
        }
    }
}

impl Display for TcpOption {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            TcpOption::Mss(mss) => write!(out, "mss {mss}"),
            TcpOption::SackPermitted => write!(out, "sackOK"),
            TcpOption::Timestamps(value, echo) => write!(out, "TS val {value} ecr {echo}"),
            TcpOption::WindowScale(scale) => write!(out, "wscale {scale}"),
            TcpOption::Sack(blocks) => {
                write!(out, "sack")?;
                blocks.iter().try_for_each(|(from, to)| write!(out, " {from}:{to}"))
            }
            TcpOption::Nop => write!(out, "nop"),
            TcpOption::End => write!(out, "eol"),
        }
    }
}

impl Display for Call {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{}({})", self.name, joined(&self.arguments, ", "))?;
        self.result.iter().try_for_each(|result| write!(out, " = {result}"))?;
        self.errno.iter().try_for_each(|errno| write!(out, " {errno}"))
    }
}

impl Display for Argument {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Argument::Any => write!(out, "..."),
            Argument::Number(number) => write!(out, "{number}"),
            Argument::Name(name) => write!(out, "{name}"),
            Argument::Text(text) => write!(out, "\"{text}\""),
            Argument::List(values) => write!(out, "[{}]", joined(values, ", ")),
            Argument::Struct => write!(out, "{{}}"),
        }
    }
}

impl Display for Statement {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Statement::Assert(expression) => write!(out, "assert {expression}"),
            Statement::Assign(name, value) => write!(out, "{name} = {value}"),
            Statement::Print => write!(out, "print()"),
        }
    }
}

impl Display for Expression {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Expression::Number(number) => write!(out, "{number}"),
            Expression::Name(name) => write!(out, "{name}"),
            Expression::Minus(inner) => write!(out, "-({inner})"),
            Expression::Not(inner) => write!(out, "not ({inner})"),
            Expression::Pair(operator, left, right) => {
                write!(out, "{} {operator} {}", nested(left), nested(right))
            }
        }
    }
}

impl Display for Operator {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let mut all = Operator::LEVELS.iter().copied().flatten();
        let text = all.find(|(_, operator)| operator == self).map_or("", |(text, _)| text.trim_end());
        write!(out, "{text}")
    }
}

/// Part of an expression.
fn nested(expression: &Expression) -> String {
    if matches!(expression, Expression::Pair(..)) {
        format!("({expression})")
    } else {
        expression.to_string()
    }
}

/// Values with a text between them.
fn joined<T: Display>(values: &[T], between: &str) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}
