"""The native engine. Private: the `dumbbell` package documents and types what this module returns."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, final

from typing_extensions import disjoint_base

__all__ = [
    "Ack",
    "ArrowColumns",
    "Congestion",
    "Connection",
    "ControlError",
    "EngineError",
    "Episodes",
    "Inspection",
    "ManyResult",
    "RecoveryExit",
    "Restart",
    "RunResult",
    "ScenarioError",
    "Segment",
    "Setup",
    "Stated",
    "TransportError",
    "Undo",
    "catalogue",
    "check",
    "compare_segments",
    "digest",
    "inspect",
    "inspect_columns",
    "json_of",
    "load_library",
    "network",
    "parse_quantity",
    "play_script",
    "run",
    "run_many",
    "schema",
    "script_files",
    "script_kinds",
    "version",
    "written_out",
]

class EngineError(RuntimeError): ...
class ControlError(ValueError): ...
class TransportError(RuntimeError): ...

class ScenarioError(ValueError):
    field: str
    value: str
    accepted: str
    suggestion: str | None

@final
class Stated:
    def __new__(cls, text: str, format: Literal["toml", "json"]) -> Self: ...
    def canonical_json(self) -> str: ...
    def hash(self) -> str: ...
    def warnings(self) -> list[str]: ...
    def derived_limits(self) -> list[str]: ...
    def has_short_forms(self) -> bool: ...
    def names_external(self) -> bool: ...
    def __getnewargs__(self) -> tuple[str, str]: ...

@final
class ArrowColumns:
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def rows(self) -> list[dict[str, Any]]: ...

@final
class RunResult:
    flows: Final[ArrowColumns]
    links: Final[ArrowColumns]
    traces: Final[dict[str, ArrowColumns]]
    captured: Final[tuple[int, int]]
    def summary(self) -> str: ...
    def journal(
        self,
    ) -> tuple[ArrowColumns, list[tuple[str, str]], int, tuple[int, list[str]] | None] | None: ...

@final
class Inspection:
    epoch_ns: Final[int]
    counts: Final[list[tuple[str, int]]]
    damage: Final[str | None]
    rows_omitted: Final[int]
    def connections(self) -> ArrowColumns: ...
    def directions(self) -> ArrowColumns: ...
    def segments(self) -> ArrowColumns | None: ...
    def acks(self) -> ArrowColumns | None: ...
    def phases(self) -> ArrowColumns | None: ...
    def rtts(self) -> ArrowColumns | None: ...

@final
class ManyResult:
    flows: Final[ArrowColumns]
    links: Final[ArrowColumns]
    traces: Final[dict[str, ArrowColumns]]
    completed: Final[int]
    interrupted: Final[bool]

@final
class Episodes:
    COLUMNS: ClassVar[list[str]]
    def __new__(
        cls,
        count: int,
        flow: str,
        *,
        interval_ns: int | None,
        rtts: float | None,
        paces: bool,
        factor: float,
        threads: int,
        controls: _Controls | None = None,
    ) -> Self: ...
    def reset(self, places: Sequence[int], scenarios: Sequence[Stated], seeds: Sequence[int]) -> bytes: ...
    def step(self, places: Sequence[int], actions: Sequence[float]) -> bytes: ...

# Returns the `dumbbell.control.Factory` of a name, a digest and parameters as JSON text.
_Controls: TypeAlias = Callable[[str, str, str], Any]

@final
class Setup:
    now: Final[float]
    mss: Final[float]
    initial_window: Final[float]
    initial_ssthresh: Final[float]
    is_ecn_capable: Final[bool]
    seed: Final[int]
    def __deepcopy__(self, _memo: object, /) -> Setup: ...

@disjoint_base
class Connection:
    now: Final[float]
    mss: Final[float]
    snd_una: Final[int]
    snd_nxt: Final[int]
    flight_size: Final[float]
    in_flight: Final[float]
    max_window: Final[float]
    growth_limit: Final[float]
    loss_window: Final[float]
    srtt: Final[float | None]
    min_rtt: Final[float | None]
    delivered: Final[int]
    lost: Final[int]
    marked: Final[int]
    round: Final[int]
    is_app_limited: Final[bool]
    def grown(self, cwnd: float, growth: float) -> float: ...
    def __deepcopy__(self, _memo: object, /) -> Self: ...

@final
class Ack(Connection):
    ack: Final[int]
    acked: Final[int]
    newly_delivered: Final[int]
    newly_lost: Final[int]
    newly_marked: Final[int]
    rtt: Final[float | None]
    delivery_rate: Final[float | None]
    rate_is_app_limited: Final[bool]
    in_flight_after: Final[float]
    is_round_start: Final[bool]
    is_cwnd_limited: Final[bool]
    in_recovery: Final[bool]
    is_ecn_echo: Final[bool]

@final
class Congestion(Connection):
    signal: Final[str]
    restarts: Final[bool]
    retransmitted_before: Final[bool]

@final
class Segment(Connection):
    seq: Final[int]
    bytes: Final[int]
    is_retransmission: Final[bool]
    sent_at: Final[float]

@final
class RecoveryExit(Connection):
    kept_inflation: Final[float]

@final
class Undo(Connection):
    signal: Final[str]
    cwnd: Final[float]
    ssthresh: Final[float]

@final
class Restart(Connection):
    idle: Final[float]
    timeout: Final[float]

def version() -> str: ...
def digest() -> str: ...
def schema() -> str: ...
def catalogue() -> str: ...
def json_of(text: str, format: Literal["toml", "json"]) -> str: ...
def written_out(text: str) -> str: ...
def network(topology: str) -> str: ...
def parse_quantity(text: str, kind: Literal["time", "rate", "size"]) -> int: ...
def check(name: str, digest: str, parameters: str, controls: _Controls) -> str | None: ...
def script_kinds() -> list[tuple[str, str]]: ...
def script_files(path: str) -> list[Path]: ...
def play_script(text: str, path: str, tree: str | None = ...) -> tuple[str, int, str]: ...
def compare_segments(
    kind: str, seed: int, tree: str, from_kernel: bool, least: bool
) -> tuple[tuple[str, int, str] | None, int, str]: ...
def inspect(
    path: str | Path,
    connection: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Inspection: ...
def inspect_columns() -> list[tuple[str, str, str]]: ...
def load_library(data: bytes, path: str, parameters: str) -> str: ...
def run(
    scenario: Stated,
    seed: int,
    run: int,
    controls: _Controls | None = None,
    *,
    clock: Callable[[float], None] | None = None,
    journal: tuple[int, int, int] | None = None,
    capture: tuple[tuple[int, Path] | None, int | None, Path | None] | None = None,
) -> RunResult: ...
def run_many(
    scenarios: Sequence[Stated],
    jobs: Sequence[tuple[int, int, int]],
    threads: int,
    progress: Callable[[int, int], None] | None = None,
    *,
    finished: Callable[[ManyResult], None] | None = None,
    partial: bool = False,
    controls: _Controls | None = None,
) -> ManyResult: ...
