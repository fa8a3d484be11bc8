"""What theory says of TCP's throughput, windows and round-trip times, as functions of numbers.

`altman`
    TCP Vegas and TCP Reno beside constant-rate traffic at one bottleneck [aithellal2000].
`rovegas`
    Vegas and RoVegas where the path of the acknowledgements is the narrow one [chan2004].
`code_tcp`
    The factor by which CODE TCP lowers its thresholds after a loss [chan2010].
`throughput`
    Throughput from loss rate and round-trip time: Reno, Westwood+, Mathis, Padhye.

Nothing here simulates. Functions take floats or arrays that broadcast, return a float where all arguments
are numbers, and refuse what lies outside a formula's domain with a `dumbbell.ScenarioError` that names the
argument, its value and what is accepted. Windows and queues are in packets, times in seconds, rates in
packets per second unless a docstring says otherwise.
"""

from dumbbell.models import altman, code_tcp, rovegas, throughput

__all__ = ["altman", "code_tcp", "rovegas", "throughput"]
