"""The native engine. Private: the `dumbbell` package documents and types what this module returns."""

from collections.abc import Callable, Sequence
from typing import Literal, final

__all__ = [
    "ArrowColumns",
    "EngineError",
    "ManyResult",
    "RunResult",
    "ScenarioError",
    "catalogue",
    "digest",
    "normalize",
    "run",
    "run_many",
    "scenario_hash",
    "schema",
    "version",
    "warnings",
]

class EngineError(RuntimeError): ...

class ScenarioError(ValueError):
    field: str
    value: str
    accepted: str
    suggestion: str | None

@final
class ArrowColumns:
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class RunResult:
    @property
    def flows(self) -> ArrowColumns: ...
    @property
    def links(self) -> ArrowColumns: ...
    @property
    def traces(self) -> dict[str, ArrowColumns]: ...
    def summary(self) -> str: ...

@final
class ManyResult:
    @property
    def flows(self) -> ArrowColumns: ...
    @property
    def links(self) -> ArrowColumns: ...
    @property
    def traces(self) -> dict[str, ArrowColumns]: ...
    @property
    def completed(self) -> int: ...
    @property
    def interrupted(self) -> bool: ...

def version() -> str: ...
def digest() -> str: ...
def schema() -> str: ...
def catalogue() -> str: ...
def normalize(text: str, format: Literal["toml", "json"]) -> str: ...
def scenario_hash(json_text: str) -> str: ...
def warnings(json_text: str) -> list[str]: ...
def run(json_text: str, seed: int, run: int) -> RunResult: ...
def run_many(
    json_texts: Sequence[str],
    jobs: Sequence[tuple[int, int, int]],
    threads: int,
    progress: Callable[[int, int], None] | None = None,
    *,
    finished: Callable[[ManyResult], None] | None = None,
    partial: bool = False,
) -> ManyResult: ...
