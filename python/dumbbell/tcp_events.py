"""Effects of losses on TCP connections, from the trace ``tcp_events``.

Each function takes the frame of that trace, for one or many runs and all or some flows, and returns a series
indexed like some of its rows. `sum_by_flow` and `mean_by_flow` aggregate the rows of each flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray


def _by_connection(events: pd.DataFrame, *kinds: str) -> pd.DataFrame:
    """Return rows of some kinds, grouped by connection and in order, with the number of the connection as ``group``."""
    keys = [key for key in ("job", "name", "connection") if key in events]
    # Losses of closed connections belong to none.
    chosen = events[events["kind"].isin(kinds) & events["connection"].notna()]
    grouped = chosen.assign(group=chosen.groupby(keys, sort=False).ngroup())
    return grouped.sort_values("group", kind="stable")


def window_kept(events: pd.DataFrame) -> pd.Series[float]:
    """Return the fraction of the window after each fast recovery, by the row of its completion.

    The reference is the window before the fast retransmit that started the recovery. Recoveries that started
    without one, or ended with a timeout, are excluded. Windows exclude inflation.

    Parameters
    ----------
    events
        A trace ``tcp_events``.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame(
    ...     {
    ...         "time_s": [1.0, 1.0, 1.2],
    ...         "name": "fg",
    ...         "connection": 1,
    ...         "kind": ["fast_retransmit", "recovery_enter", "recovery_exit"],
    ...         "cwnd_before_bytes": [16000.0, 8000.0, 8000.0],
    ...         "cwnd_bytes": [8000.0, 8000.0, 8000.0],
    ...     }
    ... )
    >>> window_kept(events).tolist()
    [0.5]
    """
    rows = _by_connection(events, "fast_retransmit", "recovery_enter", "recovery_exit", "timeout")
    last = rows.groupby("group")[["kind", "time_s", "cwnd_before_bytes"]].shift(1)
    begins = (
        (rows["kind"] == "recovery_enter")
        & (last["kind"] == "fast_retransmit")
        & (last["time_s"] == rows["time_s"])
    )
    edges = rows.assign(before=last["cwnd_before_bytes"].where(begins))[rows["kind"] != "fast_retransmit"]
    before = edges.groupby("group")["before"].shift(1)
    complete = (edges["kind"] == "recovery_exit") & before.notna()
    return cast("pd.Series[float]", edges["cwnd_bytes"][complete] / before[complete])


def new_data_waits(events: pd.DataFrame) -> pd.Series[float]:
    """Return the time from the last fast retransmission to each ``new_data``, in mean round-trip times so far.

    Parameters
    ----------
    events
        A trace ``tcp_events``.
    """
    rows = _by_connection(events, "fast_retransmit", "new_data")
    nanoseconds = np.rint(rows["time_s"] * 1e9)
    since = nanoseconds - nanoseconds.groupby(rows["group"]).shift(1)
    waits = (since * 1e-9 / rows["rtt_mean_s"])[rows["kind"] == "new_data"]
    return cast("pd.Series[float]", waits.dropna())


def in_first_slow_start(events: pd.DataFrame) -> pd.Series[bool]:
    """Return, for each loss and timeout, whether it affects data sent in the connection's initial slow start.

    Parameters
    ----------
    events
        A trace ``tcp_events``. The first slow start lasts to the first ``slow_start_exit`` or timeout. Timeouts before there is
        data, which repeat a SYN, are left out.
    """
    rows = _by_connection(events, "slow_start_exit", "timeout", "loss")
    rows = rows[(rows["kind"] != "timeout") | (rows["snd_max"] > 0)]
    ends = rows[rows["kind"] != "loss"].groupby("group")["snd_max"].first()
    # Without an end, slow start lasts beyond all data sent.
    end = rows["group"].map(ends).fillna(np.inf)
    first = rows["seq"].where(rows["kind"] == "loss", rows["snd_una"])
    return (first < end)[rows["kind"] != "slow_start_exit"]


def losses_before_timeouts(events: pd.DataFrame) -> pd.Series[int]:
    """Return, for each timeout, the number of unacknowledged segments lost since the previous one.

    Parameters
    ----------
    events
        A trace ``tcp_events``.
    """
    rows = _by_connection(events, "timeout", "loss")
    is_timeout = rows["kind"] == "timeout"
    # A loss belongs to the following timeout.
    expiries = is_timeout.astype(int)
    rows = rows.assign(number=expiries.groupby(rows["group"]).cumsum() - expiries)
    timeouts = rows[is_timeout]
    lost = rows[~is_timeout].merge(
        timeouts[["group", "number", "snd_una"]], on=["group", "number"], suffixes=("_then", "")
    )
    lost = lost[lost["seq"] >= lost["snd_una"]].drop_duplicates(["group", "number", "seq"])
    segments = lost.groupby(["group", "number"]).size()
    counted = segments.reindex(timeouts.set_index(["group", "number"]).index, fill_value=0)
    return counted.set_axis(timeouts.index)


def sum_by_flow(
    events: pd.DataFrame, values: pd.Series[float] | pd.Series[bool], flows: pd.DataFrame
) -> NDArray[np.float64]:
    """Return the sum over the rows of each flow; 0 without any.

    Parameters
    ----------
    events
        A trace ``tcp_events``.
    values
        A number for some of its rows; truth values count the true ones.
    flows
        Rows of ``flows`` of the same results.
    """
    return _sums(events, values, flows)[0]


def mean_by_flow(events: pd.DataFrame, values: pd.Series[float], flows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the mean over the rows of each flow; NaN without any.

    Parameters
    ----------
    events
        A trace ``tcp_events``.
    values
        A number for some of its rows.
    flows
        Rows of ``flows`` of the same results.
    """
    sums, counts = _sums(events, values, flows)
    means = np.full(len(flows), np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def _numbers(rows: pd.DataFrame, names: Sequence[str]) -> NDArray[np.int64]:
    """Return one number for each job and name; a negative one for a name that is not among the given ones."""
    import pandas as pd

    codes = pd.Categorical(rows["name"], categories=pd.Index(names)).codes.astype(np.int64)
    jobs = rows["job"].to_numpy(dtype=np.int64) if "job" in rows else np.zeros(len(rows), dtype=np.int64)
    return np.where(codes < 0, -1, jobs * len(names) + codes)


def _sums(
    events: pd.DataFrame, values: pd.Series[float] | pd.Series[bool], flows: pd.DataFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums in the order of the rows, and numbers of rows."""
    import pandas as pd

    names = list(dict.fromkeys(flows["name"].astype(str)))
    places = (
        pd.Series(_numbers(flows, names))
        .pipe(pd.Index)
        .get_indexer(pd.Series(_numbers(events.loc[values.index], names)).pipe(pd.Index))
    )
    known = places >= 0
    sums, counts = np.zeros(len(flows)), np.zeros(len(flows))
    np.add.at(sums, places[known], values.to_numpy(dtype=np.float64)[known])
    np.add.at(counts, places[known], 1.0)
    return sums, counts
