#!/usr/bin/env bash
# Tests what build.sh has built: the module in Node against native fingerprints, and the page in Chromium.
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -e ../../results/website/lab/engine.wasm ] || ! command -v node >/dev/null; then
    echo "SKIPPED lab-test: the lab is not built" >&2
    exit 0
fi
command -v chromium >/dev/null || echo "SKIPPED lab-test in a browser: the Debian package chromium is missing" >&2

./random.sh 40

log=$(mktemp)
trap 'rm -f "$log"' EXIT
result=0
node --test --test-reporter tap test/*.test.mjs >"$log" || result=$?
[ "$result" -eq 0 ] || cat "$log"
awk '/^# (pass|fail|skipped) / { count[$2] = $3 }
     END { printf "lab-test: %d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skipped"] }' "$log"
exit "$result"
