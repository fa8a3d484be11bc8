"""Analytical models of TCP throughput, windows and round-trip times.

`altman`
    TCP Vegas and TCP Reno beside constant-rate traffic at one bottleneck [aithellal2000].
`rovegas`
    Vegas and RoVegas if acknowledgements are the bottleneck [chan2004].
`code_tcp`
    The factor by which CODE TCP lowers its thresholds after a loss [chan2010].
`throughput`
    Throughput from loss rate and round-trip time: Reno, Westwood+, Mathis, Padhye.

Nothing here simulates. Functions take floats or arrays that broadcast, and return a float if all arguments are
numbers. Values outside the domain of a formula raise a `dumbbell.ScenarioError` that names the argument, its value
and the accepted values. Windows and queues are in packets, times in seconds, rates in
packets per second unless a docstring says otherwise.
"""

from dumbbell.models import altman, code_tcp, rovegas, throughput

__all__ = ["altman", "code_tcp", "rovegas", "throughput"]
