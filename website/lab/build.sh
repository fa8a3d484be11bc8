#!/usr/bin/env bash
# Builds the lab in results/website/lab: the engine as WebAssembly, and the page around it. Skips, and says so, where a
# tool is missing. LAB_PROFILE states another profile of Cargo.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=wasm32-unknown-unknown
profile=${LAB_PROFILE:-lab}
skip() {
    echo "SKIPPED lab: $1" >&2
    exit 0
}

# A page may use so much memory, in bytes.
export RUSTFLAGS="-C link-arg=--max-memory=1073741824" CARGO_INCREMENTAL=0

has_target() { [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; }

command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are missing"
has_target || { command -v rustup >/dev/null && timeout 120 rustup target add "$target" >/dev/null 2>&1; } || true
has_target || skip "the toolchain does not have $target, and rustup cannot add it"

# The page adds a function of its own to the module's table, so that the module needs no imports.
cargo rustc --locked --quiet --package dumbbell-web --lib --profile "$profile" --target "$target" --crate-type cdylib -- \
    -C link-arg=--export-table -C link-arg=--growable-table
built=$(realpath "${CARGO_TARGET_DIR:-target}")
env -u RUSTFLAGS cargo build --locked --quiet --package dumbbell-web --bin dumbbell-describe

cd website/lab
if ! { [ -e node_modules/.package-lock.json ] && [ node_modules/.package-lock.json -nt package-lock.json ]; }; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel error || skip "the packages of npm cannot be installed"
fi
# Another profile is for tests, which need no small module.
optimize=()
[ "$profile" != lab ] || optimize=(--optimize)
node build.mjs "${optimize[@]}" "$built/$target/$profile/dumbbell_web.wasm" "$built/debug/dumbbell-describe" \
    ../../results/website/lab
