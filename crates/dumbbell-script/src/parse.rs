//! The grammar of scripts.

use crate::expression::{Expression, Operator, Statement};
use crate::script::{Action, Argument, Call, Event, Flags, Moment, Script, Segment, TcpOption};
use dumbbell_units::{Ecn, Time};
use winnow::ascii::{dec_uint, digit1, multispace0};
use winnow::combinator::{
    alt, cut_err, delimited, dispatch, fail, not, opt, peek, preceded, repeat, separated, terminated,
};
use winnow::error::{ContextError, StrContext, StrContextValue};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location};
use winnow::token::{any, one_of, take_till, take_until, take_while};

type Text<'a> = LocatingSlice<&'a str>;

/// Why a script cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// True if it is part of packetdrill's language, but not of the subset.
    pub is_outside: bool,
    /// What is accepted there, or what is outside of the subset.
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_outside { "not expressible" } else { "expected" };
        write!(out, "line {}, column {}: {kind}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Reads a script.
///
/// # Errors
///
/// The first place that is not in the language or not in the subset.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    let script = script.parse(LocatingSlice::new(text)).map_err(|error| {
        let before = &text[..error.offset().min(text.len())];
        let line_begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (is_outside, message) = message_of(error.inner());
        ParseError {
            line: before.matches('\n').count() + 1,
            column: before[line_begin..].chars().count() + 1,
            is_outside,
            message,
        }
    })?;
    Ok(with_lines(script, text))
}

/// Replaces the offsets of events by lines.
fn with_lines(mut script: Script, text: &str) -> Script {
    for event in &mut script.events {
        event.line = text[..event.line].matches('\n').count() + 1;
    }
    script
}

/// What was accepted at an error; a label is what is outside of the subset.
fn message_of(error: &ContextError) -> (bool, String) {
    let mut accepted = Vec::new();
    for context in error.context() {
        match context {
            StrContext::Label(outside) => return (true, (*outside).into()),
            StrContext::Expected(StrContextValue::Description(text)) => accepted.push(*text),
            StrContext::Expected(StrContextValue::StringLiteral(text)) => accepted.push(*text),
            _ => {}
        }
    }
    (false, accepted.first().map_or("an event, a comment or an option line", |text| *text).into())
}

/// What is accepted in a place.
fn accepted(text: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(text))
}

fn outside<'a, O>(reason: &'static str) -> impl Parser<Text<'a>, O, winnow::error::ErrMode<ContextError>> {
    cut_err(fail).context(StrContext::Label(reason))
}

/// Blanks and comments within a line.
fn blank(text: &mut Text<'_>) -> ModalResult<()> {
    let comment = ("/*", take_until(0.., "*/"), "*/").void();
    let continued = ("\\", opt("\r"), "\n").void();
    repeat(0.., alt((one_of([' ', '\t', '\r']).void(), comment, continued))).parse_next(text)
}

/// The same with ends of lines and their comments.
fn space(text: &mut Text<'_>) -> ModalResult<()> {
    let line_comment = (alt(("//", "#")), take_till(0.., '\n')).void();
    let comment = ("/*", take_until(0.., "*/"), "*/").void();
    let continued = ("\\", opt("\r"), "\n").void();
    repeat(0.., alt((one_of([' ', '\t', '\r', '\n']).void(), line_comment, comment, continued)))
        .parse_next(text)
}

fn script(text: &mut Text<'_>) -> ModalResult<Script> {
    space.parse_next(text)?;
    let options = repeat(0.., terminated(option_line, space)).parse_next(text)?;
    let setup = repeat(0.., terminated(command, space)).parse_next(text)?;
    let events = repeat(0.., terminated(event, space)).parse_next(text)?;
    let cleanup = repeat(0.., terminated(command, space)).parse_next(text)?;
    not(any).context(accepted("an event, which begins with its time")).parse_next(text)?;
    Ok(Script { folder: None, options, setup, events, cleanup })
}

fn option_line(text: &mut Text<'_>) -> ModalResult<(String, String)> {
    let name = take_while(1.., ('a'..='z', '0'..='9', '_', '-'));
    let value = take_till(1.., [' ', '\t', '\r', '\n']);
    let value = opt(preceded("=", cut_err(value).context(accepted("--name=value"))));
    let line = (preceded("--", name), value);
    line.map(|(name, value): (&str, Option<&str>)| (name.into(), value.unwrap_or_default().into()))
        .parse_next(text)
}

/// The value of an expression of numbers alone up to `))`, and what follows.
pub(crate) fn arithmetic(text: &str) -> Option<(i64, &str)> {
    let mut rest = LocatingSlice::new(text);
    let expression = terminated(expression, (multispace0, "))")).parse_next(&mut rest).ok()?;
    Some((expression.value(&|_| None).ok()?, *rest))
}

fn command(text: &mut Text<'_>) -> ModalResult<String> {
    let end = cut_err("`").context(accepted("a backtick at the end of the command"));
    delimited("`", take_till(0.., '`'), end).map(|command: &str| command.trim().into()).parse_next(text)
}

fn event(text: &mut Text<'_>) -> ModalResult<Event> {
    let line = text.current_token_start();
    let at = moment.parse_next(text)?;
    blank.parse_next(text)?;
    let mut end = opt(preceded(("...", blank), cut_err(seconds).context(accepted("the end of a call"))));
    let blocks = match (end.parse_next(text)?, at) {
        (None, _) => None,
        (Some(end), Moment::At(begin) | Moment::After(begin)) if end >= begin => Some(end - begin),
        (Some(_), _) => {
            return cut_err(fail).context(accepted("a call that ends after it begins")).parse_next(text);
        }
    };
    blank.parse_next(text)?;
    let what = "`<` or `>` with a segment, a system call, a command in backticks, or `%{ ... }%`";
    let mut action = cut_err(action).context(accepted(what)).parse_next(text)?;
    match &mut action {
        Action::Call(call) => call.blocks = blocks,
        _ if blocks.is_some() => {
            return cut_err(fail)
                .context(accepted("a system call after a range with `...`"))
                .parse_next(text);
        }
        _ => {}
    }
    Ok(Event { line, at, action })
}

/// Seconds with at most nine decimals.
fn seconds(text: &mut Text<'_>) -> ModalResult<Time> {
    let whole = opt(digit1);
    let decimals = opt(preceded('.', take_while(1..=9, '0'..='9')));
    let number = (whole, decimals).verify(|(whole, decimals): &(Option<&str>, Option<&str>)| {
        whole.is_some() || decimals.is_some_and(|decimals| !decimals.is_empty())
    });
    let mut time = number.try_map(|(whole, decimals): (Option<&str>, Option<&str>)| {
        let nanoseconds = format!("{:0<9}", decimals.unwrap_or_default());
        format!("{}{nanoseconds}", whole.unwrap_or("0")).parse::<u64>().map(Time)
    });
    time.parse_next(text)
}

fn moment(text: &mut Text<'_>) -> ModalResult<Moment> {
    if opt('*').parse_next(text)?.is_some() {
        return Ok(Moment::Any);
    }
    let is_relative = opt('+').parse_next(text)?.is_some();
    let from = seconds.parse_next(text)?;
    let until = opt(preceded(
        "~",
        cut_err(preceded(opt('+'), seconds)).context(accepted("the end of a range of times")),
    ))
    .parse_next(text)?;
    Ok(match (is_relative, until) {
        (false, None) => Moment::At(from),
        (true, None) => Moment::After(from),
        (false, Some(until)) => Moment::Between(from, until),
        (true, Some(until)) => Moment::AfterBetween(from, until),
    })
}

fn action(text: &mut Text<'_>) -> ModalResult<Action> {
    dispatch! { peek(any);
        '<' => preceded('<', cut_err(segment)).map(Action::Inbound),
        '>' => preceded('>', cut_err(segment)).map(Action::Outbound),
        '`' => command.map(Action::Command),
        '%' => check.map(Action::Check),
        _ => call.map(Action::Call),
    }
    .parse_next(text)
}

/// Other protocols, which segments of other languages begin with.
const OTHERS: [&str; 6] = ["icmp", "udp", "gre", "ipv4", "ipv6", "mpls"];

fn segment(text: &mut Text<'_>) -> ModalResult<Segment> {
    blank.parse_next(text)?;
    let word: &str = peek(take_while(0.., ('a'..='z', '0'..='9'))).parse_next(text)?;
    if OTHERS.iter().any(|other| word.starts_with(other)) {
        return outside("packets other than those of one TCP connection").parse_next(text);
    }
    let ecn = opt(delimited('[', take_till(1.., ']'), (']', blank))).parse_next(text)?;
    let ecn = match ecn {
        None => None,
        Some("noecn") => Some(Ecn::NotEct),
        Some("ect0") => Some(Ecn::Ect0),
        Some("ect1") => Some(Ecn::Ect1),
        Some("ce") => Some(Ecn::Ce),
        Some(_) => {
            return outside("fields of the IP header other than ect0, ect1, ce and noecn").parse_next(text);
        }
    };
    let flags = terminated(flags, blank).parse_next(text)?;
    let (seq, len) = cut_err(range).context(accepted("FIRST:END(LENGTH)")).parse_next(text)?;
    blank.parse_next(text)?;
    let ack = cut_err(number_of_32_bits).context(accepted("a number of 32 bits"));
    let ack = opt(delimited("ack ", ack, blank)).parse_next(text)?;
    let window = cut_err(number_of_16_bits).context(accepted("a number of 16 bits"));
    let window = opt(delimited("win ", window, blank)).parse_next(text)?;
    if opt("urg ").parse_next(text)?.is_some() {
        return outside("urgent data").parse_next(text);
    }
    let options =
        opt(delimited('<', options, (blank, cut_err('>').context(accepted("`>` after the options")))))
            .parse_next(text)?;
    Ok(Segment { flags, ecn, seq, len, ack, window, options: options.unwrap_or(Some(Vec::new())) })
}

fn flags(text: &mut Text<'_>) -> ModalResult<Flags> {
    let letters: &str = take_while(1.., ['S', 'F', 'R', 'P', '.', 'E', 'W', 'A', 'U', '-'])
        .context(accepted("flags out of S, F, R, P, E, W and `.`"))
        .parse_next(text)?;
    if letters.contains(['A', 'U']) {
        return outside("the flags of accurate ECN and of urgent data").parse_next(text);
    }
    if letters.contains('-') && letters.len() > 1 {
        return cut_err(fail).context(accepted("`-` alone, for no flags")).parse_next(text);
    }
    let has = |letter| letters.contains(letter);
    let [syn, fin, rst, psh, ack, ece, cwr] = ['S', 'F', 'R', 'P', '.', 'E', 'W'].map(has);
    Ok(Flags { syn, fin, rst, psh, ack, ece, cwr })
}

/// A field of the header, as a sequence number.
fn number_of_32_bits(text: &mut Text<'_>) -> ModalResult<u64> {
    dec_uint::<_, u32, _>.map(u64::from).parse_next(text)
}

/// A smaller one, as the window.
fn number_of_16_bits(text: &mut Text<'_>) -> ModalResult<u64> {
    dec_uint::<_, u16, _>.map(u64::from).parse_next(text)
}

fn range(text: &mut Text<'_>) -> ModalResult<(u64, u64)> {
    let (seq, end, len) =
        (number_of_32_bits, opt(preceded(':', number_of_32_bits)), delimited('(', number_of_32_bits, ')'))
            .parse_next(text)?;
    if end.is_some_and(|end| end != seq + len) {
        return cut_err(fail)
            .context(accepted("a length that is the difference of the sequence numbers"))
            .parse_next(text);
    }
    Ok((seq, len))
}

fn options(text: &mut Text<'_>) -> ModalResult<Option<Vec<TcpOption>>> {
    blank.parse_next(text)?;
    if opt("...").parse_next(text)?.is_some() {
        return Ok(None);
    }
    separated(0.., tcp_option, (blank, ',', blank)).map(Some).parse_next(text)
}

fn tcp_option(text: &mut Text<'_>) -> ModalResult<TcpOption> {
    let number = |text: &mut Text<'_>| preceded(blank, number_of_32_bits).parse_next(text);
    let size = |text: &mut Text<'_>| preceded(blank, number_of_16_bits).parse_next(text);
    let shift = |text: &mut Text<'_>| preceded(blank, dec_uint::<_, u8, _>).parse_next(text);
    let block = (number, preceded(':', number_of_32_bits));
    let known = alt((
        ("TS", blank, "val", number, blank, "ecr", number)
            .map(|(_, _, _, value, _, _, echo)| TcpOption::Timestamps(value, echo)),
        preceded("mss", size).map(TcpOption::Mss),
        preceded("wscale", shift).map(|shift| TcpOption::WindowScale(shift.into())),
        "sackOK".value(TcpOption::SackPermitted),
        preceded("sack", repeat(1.., block)).map(TcpOption::Sack),
        "nop".value(TcpOption::Nop),
        "eol".value(TcpOption::End),
    ));
    let what = "mss N, sackOK, TS val N ecr N, wscale N, sack FIRST:END ..., nop or eol";
    let others = peek(alt(("FO", "FOEXP", "md5", "mp_", "AccECN", "exp"))).void();
    if opt(others).parse_next(text)?.is_some() {
        return outside("options of Fast Open, MD5, MPTCP and accurate ECN").parse_next(text);
    }
    cut_err(known).context(accepted(what)).parse_next(text)
}

fn name<'a>(text: &mut Text<'a>) -> ModalResult<&'a str> {
    (one_of(('a'..='z', 'A'..='Z', '_')), take_while(0.., ('a'..='z', 'A'..='Z', '0'..='9', '_')))
        .take()
        .parse_next(text)
}

fn integer(text: &mut Text<'_>) -> ModalResult<i64> {
    let decimal = (opt('-'), digit1).take().try_map(|digits: &str| digits.parse::<i64>());
    let hexadecimal = preceded("0x", take_while(1.., ('0'..='9', 'a'..='f', 'A'..='F')));
    alt((hexadecimal.try_map(|digits: &str| i64::from_str_radix(digits, 16)), decimal)).parse_next(text)
}

fn quoted(text: &mut Text<'_>) -> ModalResult<String> {
    delimited('"', take_till(0.., '"'), '"').map(|text: &str| text.into()).parse_next(text)
}

fn call(text: &mut Text<'_>) -> ModalResult<Call> {
    let name = name.parse_next(text)?.to_owned();
    let open = cut_err((blank, '(', space)).context(accepted("`(` after the name of a system call"));
    let close = cut_err((space, ')')).context(accepted("`)` after the arguments"));
    let arguments = delimited(open, separated(0.., argument, (space, ',', space)), close).parse_next(text)?;
    let result = opt(preceded(
        (blank, '=', blank),
        cut_err(alt((integer.map(Some), "?".value(None)))).context(accepted("the result of the call")),
    ))
    .parse_next(text)?;
    let errno = opt(preceded(blank, take_while(2.., ('A'..='Z', '0'..='9')))).parse_next(text)?;
    // The text of an error.
    opt((blank, '(', take_till(0.., [')', '\n']), ')')).parse_next(text)?;
    Ok(Call { name, arguments, result: result.flatten(), errno: errno.map(str::to_owned), blocks: None })
}

fn argument(text: &mut Text<'_>) -> ModalResult<Argument> {
    let names =
        separated(1.., name, (space, '|', space)).map(|names: Vec<&str>| Argument::Name(names.join("|")));
    alt((
        "...".value(Argument::Any),
        integer.map(Argument::Number),
        quoted.map(Argument::Text),
        delimited(('[', space), separated(0.., argument, (space, ',', space)), (space, ']'))
            .map(Argument::List),
        structure.value(Argument::Struct),
        names,
    ))
    .context(accepted("an argument: ..., a number, a name, a text, [...] or {...}"))
    .parse_next(text)
}

/// `{...}`, possibly with others in it.
fn structure(text: &mut Text<'_>) -> ModalResult<()> {
    let inside = repeat::<_, _, (), _, _>(0.., alt((structure, take_till(1.., ['{', '}']).void())));
    ('{', inside, '}').void().parse_next(text)
}

fn check(text: &mut Text<'_>) -> ModalResult<Vec<Statement>> {
    let end = cut_err((space, "}%")).context(accepted("`}%` after the statements"));
    let line_comment = ('#', take_till(0.., '\n')).void();
    let separator = (blank, opt(line_comment), one_of([';', '\n']), space);
    delimited(("%{", space), terminated(separated(0.., statement, separator), opt((blank, ';'))), end)
        .parse_next(text)
}

fn statement(text: &mut Text<'_>) -> ModalResult<Statement> {
    not("}%").parse_next(text)?;
    let print = ("print", blank, parenthesized).value(Statement::Print);
    let assert = delimited(("assert", space), cut_err(expression), message).map(Statement::Assert);
    alt((
        print,
        assert,
        assignment,
        outside("Python other than print, asserts of whole numbers and assignments"),
    ))
    .parse_next(text)
}

/// `name = value`, or `+=` and others.
fn assignment(text: &mut Text<'_>) -> ModalResult<Statement> {
    let sign = alt((
        ('=', not('=')).value(None),
        "+=".value(Some(Operator::Plus)),
        "-=".value(Some(Operator::Minus)),
        "*=".value(Some(Operator::Times)),
    ));
    let (name, sign, value) = (terminated(name, blank), sign, expression).parse_next(text)?;
    let value = match sign {
        None => value,
        Some(sign) => Expression::Pair(sign, Box::new(Expression::Name(name.into())), Box::new(value)),
    };
    Ok(Statement::Assign(name.into(), value))
}

/// What an assertion shows if it fails: a value, or a text with values.
fn message(text: &mut Text<'_>) -> ModalResult<()> {
    let other = take_till(1.., ['(', '"', '\'', ';', '\n', '}', '#']).void();
    let part = alt((parenthesized, quoted.void(), single_quoted, other));
    opt((blank, ',', repeat::<_, _, (), _, _>(0.., part))).void().parse_next(text)
}

fn single_quoted(text: &mut Text<'_>) -> ModalResult<()> {
    delimited('\'', take_till(0.., ['\'', '\n']), '\'').void().parse_next(text)
}

/// Anything in parentheses, possibly with others in it.
fn parenthesized(text: &mut Text<'_>) -> ModalResult<()> {
    let other = take_till(1.., ['(', ')', '"', '\'']).void();
    let inside = alt((parenthesized, quoted.void(), single_quoted, other));
    ('(', repeat::<_, _, (), _, _>(0.., inside), ')').void().parse_next(text)
}

/// Precedence of comparisons, which `not` negates and which may follow each other.
const NEGATIONS: usize = 2;

fn expression(text: &mut Text<'_>) -> ModalResult<Expression> {
    level(text, 0)
}

/// An expression whose operators have at least this precedence.
fn level(text: &mut Text<'_>, precedence: usize) -> ModalResult<Expression> {
    let Some(operators) = Operator::LEVELS.get(precedence) else { return operand(text) };
    if precedence == NEGATIONS
        && opt((multispace0, "not", peek(one_of([' ', '('])))).parse_next(text)?.is_some()
    {
        return level(text, precedence).map(|inner| Expression::Not(Box::new(inner)));
    }
    let mut left = level(text, precedence + 1)?;
    // The comparisons before the last one, which must hold too: `1 < x <= 3`.
    let mut compared: Option<Expression> = None;
    loop {
        let found = operators.iter().find_map(|(sign, operator)| {
            let mut ahead = *text;
            let found: ModalResult<(&str, &str)> = (multispace0, *sign).parse_next(&mut ahead);
            found.is_ok().then_some((ahead, *operator))
        });
        let Some((ahead, operator)) = found else {
            return Ok(compared.unwrap_or(left));
        };
        *text = ahead;
        let right = level(text, precedence + 1)?;
        let pair = |operator, left, right| Expression::Pair(operator, Box::new(left), Box::new(right));
        if precedence == NEGATIONS {
            let next = pair(operator, std::mem::replace(&mut left, right.clone()), right);
            compared = Some(match compared {
                Some(before) => pair(Operator::And, before, next),
                None => next,
            });
        } else {
            left = pair(operator, left, right);
        }
    }
}

fn operand(text: &mut Text<'_>) -> ModalResult<Expression> {
    multispace0.parse_next(text)?;
    alt((
        delimited('(', expression, (multispace0, ')')),
        integer.map(Expression::Number),
        preceded('-', operand).map(|inner| Expression::Minus(Box::new(inner))),
        name.map(|name| Expression::Name(name.into())),
    ))
    .context(accepted("a number, a field of TCP_INFO such as tcpi_snd_cwnd, or an expression in parentheses"))
    .parse_next(text)
}
