"""Figures and tables of many runs, as methods of `dumbbell.Runs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd

    from dumbbell.plots.asked import ManyResults
    from dumbbell.plots.picture import Picture
    from dumbbell.plots.table import ResultTable


class Drawn:
    """Results of many runs that draw themselves: see `dumbbell.Runs`."""

    def plot(
        self,
        x: str | None = None,
        y: str | None = None,
        hue: str | None = None,
        *,
        names: Sequence[str] | None = None,
        col: str | None = None,
        row: str | None = None,
        kind: str | None = None,
        where: Mapping[str, Any] | None = None,
        logx: bool | None = None,
        logy: bool | None = None,
        labels: Mapping[str, str] | None = None,
        style: str | None = None,
    ) -> Picture:
        """Return a figure of a quantity against a parameter; ``docs/plots.md`` shows one of each kind.

        Means come with 90 % intervals by Student's t over the runs (`dumbbell.judge.estimate`), where runs differ. What
        is drawn, and of how many runs, is written under the axes.

        Parameters
        ----------
        x, hue, col, row
            Parameters of the jobs, or columns of the results: the axis, the colours, and panels side by side and one
            below the other. By default the parameters that vary, in this order; then the flows.
        y
            A column of `flows` or else of `links`; ``goodput_bps`` by default. Of ``"heat"``, the other axis, and `hue`
            is the quantity. Of ``"timeseries"``, a probed quantity that was recorded, or ``"goodput"`` from ``delivered``.
        names
            Flows or links that count; all by default. The mean over those of a run is one value.
        kind
            ``"line"`` (means, joined if the axis has numbers), ``"scatter"`` (a point for each run and flow), ``"cdf"``
            (the distribution of `x`; also of ``"rtt"``, ``"wait"`` and ``"transfers.completion_s"`` if they were
            recorded), ``"box"``, ``"bar"``, ``"heat"`` or ``"timeseries"``.
        where
            Values of columns to which the figure is restricted, as ``{"tcp": "reno"}``; a list chooses several.
        logx, logy
            Whether an axis is logarithmic. By default, that of a swept parameter is if its values span a decade or more
            in steps that are more even by ratio.
        labels
            What columns and categories are called instead, by their names; ``"note"`` is the text under the axes.
        style
            ``"screen"`` (the default), ``"dark"``, ``"slides"``, or ``"paper"``: a column of 3.3 in, or 7 in for panels
            side by side, with embedded fonts.

        Raises
        ------
        ScenarioError
            There is no such column, flow or link, or no completed run; an argument is not accepted or has no effect on
            the kind; or means would mix the values of a parameter that is not shown.

        Examples
        --------
        >>> import dumbbell
        >>> from dumbbell import Flow, Uniform, topologies
        >>> shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="20 ms")
        >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
        >>> axes = {"links.r1-r2.queue.limit": ["5 packets", "10 packets"]}
        >>> base = shape.scenario(duration="2 s", flows=[flow])
        >>> picture = dumbbell.sweep(base, axes, runs=3, progress=False).plot(y="rtt_mean_s", style="paper")
        >>> picture.panels[0].labels
        ('buffer [packets]', 'mean RTT [ms]')
        """
        from dumbbell.plots.grammar import runs_picture

        return runs_picture(
            cast("ManyResults", self),
            x,
            y,
            hue,
            names,
            col=col,
            row=row,
            kind=kind,
            where=where,
            logx=logx,
            logy=logy,
            labels=labels,
            style=style,
        )

    def table(
        self,
        y: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        *,
        names: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> ResultTable:
        """Return a table of means with their intervals, for a notebook, the terminal, or LaTeX.

        Parameters
        ----------
        y
            Columns of `flows`, or of `links`; ``goodput_bps`` by default.
        by
            The columns that name the rows; by default the parameters that vary, and the flows.
        names, where, labels
            As in `plot`.

        Raises
        ------
        ScenarioError
            As `plot`.

        Examples
        --------
        >>> import dumbbell
        >>> from dumbbell import Flow, Uniform, topologies
        >>> shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="20 ms")
        >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
        >>> axes = {"flows.fg.tcp": ["reno", "vegas"]}
        >>> base = shape.scenario(duration="2 s", flows=[flow])
        >>> table = dumbbell.sweep(base, axes, runs=3, progress=False).table(["goodput_bps", "rtt_mean_s"])
        >>> list(table.text.columns)
        ['congestion control', 'goodput [kbit/s]', 'mean RTT [ms]']
        >>> "toprule" in table.to_latex()
        True
        """
        from dumbbell.plots.table import table_of

        return table_of(cast("ManyResults", self), y, by, names=names, where=where, labels=labels)

    def percentiles(
        self,
        of: str,
        shares: Sequence[float] = (0.5, 0.95, 0.99),
        by: str | Sequence[str] | None = None,
        *,
        names: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> pd.DataFrame:
        """Return percentiles of all values of the runs together, by the nearest rank, with 90 % intervals over the runs.

        The percentile of a share is the smallest value such that at least this share of all values is at most as large.
        All packets or transfers of the measurement windows of a row are one sample: a run with more of them counts for
        more. A mean of the percentiles of single runs, such as that of the column ``rtt_p95_s``, is another number. The
        intervals are those of the bootstrap over runs (`dumbbell.judge.pooled`); a single run has none.

        Parameters
        ----------
        of
            ``"rtt"``, ``"wait"`` or ``"transfers.completion_s"``, if recorded by a probe; or a column of `flows` or
            `links`, which has one value for each run and flow or link.
        shares
            Above 0, at most 1.
        by
            The columns that name the rows; by default the parameters that vary, and the flows.
        names, where
            As in `plot`.

        Returns
        -------
        DataFrame
            One row for each group: its columns, the percentiles as ``p95`` with ``p95_low`` and ``p95_high``, in the
            unit of the quantity, the number of ``runs`` with values, that of values, ``n``, and that of ``missing`` ones,
            such as the completion times of transfers that did not end: they are in no percentile.

        Raises
        ------
        ScenarioError
            An argument is not accepted.

        Examples
        --------
        >>> import dumbbell
        >>> from dumbbell import Flow, Probe, topologies
        >>> shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="20 ms")
        >>> flow, probe = Flow(name="fg", from_="s1", to="d1"), Probe(flows=["fg"], quantities=["rtt"])
        >>> base = shape.scenario(duration="2 s", flows=[flow], probes=[probe])
        >>> runs = dumbbell.sweep(base, {"flows.fg.tcp": ["reno", "vegas"]}, progress=False)
        >>> list(runs.percentiles("rtt", [0.95]).columns)
        ['flows.fg.tcp', 'p95', 'p95_low', 'p95_high', 'runs', 'n', 'missing']
        """
        from dumbbell.plots.table import percentiles_of

        return percentiles_of(cast("ManyResults", self), of, shares, by, names=names, where=where)

    def _repr_html_(self) -> str:
        from dumbbell.plots.notebook import runs_html

        return runs_html(cast("ManyResults", self))
