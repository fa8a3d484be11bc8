//! What scripts may say, and how the rest is refused.

use dumbbell_script::{Action, Argument, Flags, Moment, Statement, TcpOption, parse};
use dumbbell_units::{Ecn, Time};

/// Place and text of the error of a script.
fn refused(text: &str) -> String {
    parse(text).expect_err("a script that is refused").to_string()
}

/// The only event of a script.
fn event(line: &str) -> (Moment, Action) {
    let script = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let [event] = &script.events[..] else { panic!("{line}: {} events", script.events.len()) };
    (event.at, event.action.clone())
}

#[test]
fn times_are_absolute_or_relative_and_may_be_ranges() {
    let ms = |ms: u64| Time(ms * 1_000_000);
    for (text, expected) in [
        ("0", Moment::At(ms(0))),
        ("1.25", Moment::At(ms(1250))),
        (".1", Moment::At(ms(100))),
        ("+0", Moment::After(ms(0))),
        ("+.060", Moment::After(ms(60))),
        ("0.1~0.2", Moment::Between(ms(100), ms(200))),
        ("+.110~+.200", Moment::AfterBetween(ms(110), ms(200))),
        ("+0~.2", Moment::AfterBetween(ms(0), ms(200))),
        ("*", Moment::Any),
    ] {
        assert_eq!(event(&format!("{text} < . 1:1(0) ack 1 win 10")).0, expected, "{text}");
    }
}

#[test]
fn a_segment_has_flags_numbers_a_window_and_options() {
    let (_, action) =
        event("+0 < [ce] SEW. 0:0(0) ack 7 win 65535 <mss 1000,sackOK,TS val 5 ecr 6,nop,wscale 7>");
    let Action::Inbound(segment) = action else { panic!("{action:?}") };
    assert!(
        segment.flags.syn
            && segment.flags.ack
            && segment.flags.ece
            && segment.flags.cwr
            && !segment.flags.psh
    );
    assert_eq!((segment.ecn, segment.ack, segment.window), (Some(Ecn::Ce), Some(7), Some(65_535)));
    assert_eq!(segment.timestamps(), Some((5, 6)));
    assert_eq!(
        segment.option(|option| if let TcpOption::Mss(mss) = option { Some(*mss) } else { None }),
        Some(1000)
    );
    let (_, action) = event("+0 > P. 1:1001(1000) ack 1 <nop,nop,sack 3001:4001 5001:6001>");
    let Action::Outbound(segment) = action else { panic!("{action:?}") };
    assert_eq!((segment.seq, segment.len, segment.window), (1, 1000, None));
    assert_eq!(segment.sack(), [(3001, 4001), (5001, 6001)]);
    // Any options.
    let (_, action) = event("+0 > . 1:1(0) ack 1 <...>");
    let Action::Outbound(segment) = action else { panic!("{action:?}") };
    assert_eq!(segment.options, None);
}

#[test]
fn option_lines_commands_and_comments_precede_the_events() {
    let text = "// A comment.\n--tolerance_usecs=10000\n`sysctl -q net.ipv4.tcp_ecn=0\nip link set dev tun0 up`\n\n\
                0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3 // Another.\n/* And\none more. */ +0 close(3) = 0\n";
    let script = parse(text).expect("a script");
    assert_eq!(script.options, [("tolerance_usecs".to_owned(), "10000".to_owned())]);
    assert_eq!(script.setup, ["sysctl -q net.ipv4.tcp_ecn=0\nip link set dev tun0 up"]);
    assert_eq!(script.events.iter().map(|event| event.line).collect::<Vec<_>>(), [6, 8]);
}

#[test]
fn options_need_no_value_and_commands_may_follow_the_events() {
    let script =
        parse("--strict_segments\n--mss=1000\n`a.sh`\n0 close(3) = 0\n`b.sh`\n`c.sh`\n").expect("a script");
    let options =
        [("strict_segments", ""), ("mss", "1000")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(script.options, options);
    assert_eq!((script.setup, script.events.len()), (vec!["a.sh".to_owned()], 1));
    assert_eq!(script.cleanup, ["b.sh", "c.sh"]);
}

#[test]
fn a_call_that_blocks_says_when_it_ends() {
    let ms = |ms: u64| Time(ms * 1_000_000);
    for (text, at, expected) in [
        ("+.1...0.2 accept(3, ..., ...) = 4", Moment::After(ms(100)), Some(ms(100))),
        ("+.002 ... 0.004 connect(4, ..., ...) = 0", Moment::After(ms(2)), Some(ms(2))),
        ("1...1 read(4, ..., 9) = 9", Moment::At(ms(1000)), Some(ms(0))),
        ("+.1 read(4, ..., 9) = 9", Moment::After(ms(100)), None),
    ] {
        let (moment, action) = event(text);
        let Action::Call(call) = action else { panic!("{action:?}") };
        assert_eq!((moment, call.blocks), (at, expected), "{text}");
        let again = parse(&parse(text).expect("a script").to_string()).expect("what was written");
        assert!(matches!(&again.events[0].action, Action::Call(again) if *again == call), "{text}");
    }
    for (text, expected) in [
        ("+.2...0.1 accept(3, ..., ...) = 4", "expected: a call that ends after it begins"),
        ("+0...0.1 < . 1:1(0) ack 1", "expected: a system call after a range with `...`"),
    ] {
        assert!(refused(text).contains(expected), "{text}");
    }
}

#[test]
fn lines_go_on_after_a_backslash_and_names_in_the_next_line() {
    let (_, action) = event("+0 %{ assert tcpi_rtt > 0, tcpi_rtt; \\\n  assert tcpi_rto > 0;\\\n}%");
    assert!(matches!(action, Action::Check(statements) if statements.len() == 2));
    let (_, action) = event("+0 setsockopt(3, SOL_SOCKET, SO_X,\n  [A | B |\n   C], 4) = 0");
    let Action::Call(call) = action else { panic!("{action:?}") };
    assert_eq!(call.arguments[3], Argument::List(vec![Argument::Name("A|B|C".into())]));
}

#[test]
fn a_segment_may_have_no_flags() {
    let (_, action) = event("+0 < - 1:1001(1000) win 9");
    let Action::Inbound(segment) = action else { panic!("{action:?}") };
    assert_eq!((segment.flags, segment.ack), (Flags::default(), None));
    assert_eq!(segment.to_string(), "- 1:1001(1000) win 9");
    assert!(refused("+0 < S- 0:0(0)").contains("expected: `-` alone"));
}

#[test]
fn calls_have_arguments_and_results() {
    let (_, action) = event(
        "+0 connect(3, {sa_family = AF_INET, sin_port = htons(8080)}, [16]) = -1 EINPROGRESS (In progress)",
    );
    let Action::Call(call) = action else { panic!("{action:?}") };
    assert_eq!((call.name.as_str(), call.arguments.len(), call.result), ("connect", 3, Some(-1)));
    assert_eq!(call.errno.as_deref(), Some("EINPROGRESS"));
    let (_, action) = event("+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0");
    assert!(matches!(action, Action::Call(_)));
}

/// The value of an assertion if `tcpi_snd_cwnd` is 10 and `tcpi_ca_state` 3.
fn value(expression: &str) -> i64 {
    let (_, action) = event(&format!("+0 %{{ assert {expression}, \"a message\" }}%"));
    let Action::Check(statements) = action else { panic!("{action:?}") };
    let [Statement::Assert(expression)] = &statements[..] else { panic!("{statements:?}") };
    let field = |name: &str| match name {
        "tcpi_snd_cwnd" => Some(10),
        "tcpi_ca_state" => Some(3),
        _ => None,
    };
    expression.value(&field).expect("a value")
}

#[test]
fn assertions_have_the_precedence_of_python() {
    for (expression, expected) in [
        ("tcpi_snd_cwnd == 10", 1),
        ("tcpi_snd_cwnd + 2 * 3 == 16", 1),
        ("(tcpi_snd_cwnd + 2) * 3", 36),
        ("tcpi_snd_cwnd < 5 or tcpi_ca_state == TCP_CA_Recovery", 1),
        ("not tcpi_snd_cwnd == 10 and 1", 0),
        ("tcpi_snd_cwnd // 3 - -1", 4),
        ("tcpi_snd_cwnd % 4 >= 0x2", 1),
        ("tcpi_ca_state != 3", 0),
        ("9 < tcpi_snd_cwnd <= 10 < 11", 1),
        ("9 < tcpi_snd_cwnd < 10", 0),
        ("11 < tcpi_snd_cwnd <= 20", 0),
        ("(tcpi_ca_state & TCPI_OPT_SACK) != 0", 1),
        ("tcpi_ca_state & TCPI_OPT_WSCALE", 0),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
    for message in ["'%d; (' % tcpi_rtt", "\"x = }%d\" % (tcpi_rtt, 5)", "tcpi_rtt  # A comment; and more."] {
        let (_, action) = event(&format!("+0 %{{\nassert tcpi_rtt > 0, {message}\nassert 1\n}}%"));
        assert!(matches!(&action, Action::Check(statements) if statements.len() == 2), "{message}");
    }
    let (_, action) = event("+0 %{ print(tcpi_snd_cwnd, \")\"); assert tcpi_rtt > 0 }%");
    assert!(matches!(action, Action::Check(statements) if statements.len() == 2));
}

#[test]
fn errors_name_the_place_and_what_is_accepted() {
    for (text, expected) in [
        ("0 socket(..., 1) = 3\n+0 < . 1:1(0) ack x", "line 2, column 19: expected: a number of 32 bits"),
        ("+0 < . 1:1(0) ack 4294967296", "line 1, column 19: expected: a number of 32 bits"),
        ("+0 < . 1:1(0) ack 1 win 65536", "line 1, column 25: expected: a number of 16 bits"),
        ("+0 < S 0:0(0) win 1 <mss 65536>", "line 1, column 22: expected: mss N"),
        ("+0 < S 0:0(0) win 1 <wscale 256>", "line 1, column 22: expected: mss N"),
        ("+0 < Q 1:1(0)", "line 1, column 6: expected: flags out of S, F, R, P, E, W and `.`"),
        (
            "+0 < . 1:5(3)",
            "line 1, column 14: expected: a length that is the difference of the sequence numbers",
        ),
        ("+0 > . 1:1(0) <mms 5>", "line 1, column 16: expected: mss N, sackOK, TS val N ecr N"),
        ("+0 write(3, ..., 10", "line 1, column 20: expected: `)` after the arguments"),
        ("+0 %{ assert }%", "line 1, column 14: expected: a number, a field of TCP_INFO"),
        ("hello", "line 1, column 1: expected: an event, which begins with its time"),
        ("+0 `sysctl", "line 1, column 11: expected: a backtick at the end of the command"),
    ] {
        let error = refused(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn what_is_outside_of_the_subset_is_not_expressible() {
    for (text, expected) in [
        ("+0 < icmp unreachable", "line 1, column 6: not expressible: packets other than"),
        ("+0 > udp (1000)", "line 1, column 6: not expressible: packets other than"),
        ("+0 < . 1:1(0) ack 1 win 9 urg 5", "not expressible: urgent data"),
        ("+0 > . 1:1(0) ack 1 <FO abcd,nop>", "not expressible: options of Fast Open"),
        ("+0 %{ if tcpi_rtt: x = 5 }%", "not expressible: Python other than print, asserts"),
        ("+0 > SA 0:0(0)", "not expressible: the flags of accurate ECN"),
    ] {
        let error = refused(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}
