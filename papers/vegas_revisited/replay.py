"""Table III replayed: the bookkeeping of rounds in the released code, and in the corrected one, through a timeout.

[hengartner2000 §VII.C, table III]

The expected rate divides Eq. 3 by the base round-trip time, the actual rate Eq. 4 by that of the round. Eq. 3 counts what is in
transit, and in the released code takes away what an acknowledgement covers beyond one segment; Eq. 4 counts what was sent in the
round. The tests of the engine hold its Vegas to the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Row:
    """The state after an event, in segments.

    Parameters
    ----------
    event
        What happened.
    eq3, eq4
        The numbers of Eqs. 3 and 4, where a check fell due.
    beg_seq, snd_nxt, snd_una
        First segment of the round, next segment to send, oldest unacknowledged segment.
    """

    event: str
    eq3: int | None
    eq4: int | None
    beg_seq: int
    snd_nxt: int
    snd_una: int


@dataclass
class _Rounds:
    """The bookkeeping of a sender; rows record its events."""

    corrected: bool
    beg_seq: int = 0
    snd_nxt: int = 5
    snd_una: int = 0
    rows: list[Row] = field(default_factory=list)

    def move(self, event: str, snd_nxt: int) -> None:
        """Continue with another segment."""
        self.snd_nxt = snd_nxt
        self._row(event)

    def acknowledge(self, event: str, ack: int) -> None:
        """Process an acknowledgement of everything below `ack`."""
        eq3 = eq4 = None
        # In the corrected code, an acknowledgement of what was sent before a timeout ends a round in which nothing was sent.
        if ack > self.beg_seq and not (self.corrected and self.snd_nxt <= self.beg_seq):
            in_transit = max(0, self.snd_nxt - self.snd_una)
            beyond_one = 0 if self.corrected else max(0, ack - self.snd_una - 1)
            eq3, eq4 = in_transit - beyond_one, self.snd_nxt - self.beg_seq
            self.beg_seq = self.snd_nxt
        if self.corrected and ack > self.snd_nxt:
            self.beg_seq = ack
        self.snd_una, self.snd_nxt = ack, max(self.snd_nxt, ack)
        self._row(event, eq3, eq4)

    def _row(self, event: str, eq3: int | None = None, eq4: int | None = None) -> None:
        state = {"beg_seq": self.beg_seq, "snd_nxt": self.snd_nxt, "snd_una": self.snd_una}
        self.rows.append(Row(event=event, eq3=eq3, eq4=eq4, **state))


def replay(*, corrected: bool) -> list[Row]:
    """Return the rows of Table III.

    Parameters
    ----------
    corrected
        Whether Eq. 3 omits its last term and a new round begins after a timeout.
    """
    rounds = _Rounds(corrected)
    rounds.acknowledge("0-4 acknowledged", 5)
    # Segments 5 to 9 are sent, and 5 is lost. The sender goes back to it and sends 5 and 6 again.
    rounds.move("timeout", 10)
    rounds.move("send 5 and 6", 7)
    rounds.acknowledge("9 acknowledged", 10)
    rounds.move("send 10-12", 13)
    rounds.acknowledge("10 acknowledged", 11)
    return rounds.rows[1:]
