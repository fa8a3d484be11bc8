#!/usr/bin/env bash
# Compares COUNT random scenarios of the chaos search in the built lab, in Node, with their native results: fingerprints,
# tables and traces. BASE is the seed of the search, PYTHON an interpreter with the package, and CHAOS the program.
set -euo pipefail
cd "$(dirname "$0")"
root=$(realpath ../..)
count=${1:-2000}
python=${PYTHON:-$root/.venv/bin/python}
chaos=${CHAOS:-$root/target/debug/dumbbell-chaos}
for needed in "$python" "$chaos"; do
    if [ ! -x "$needed" ]; then
        echo "SKIPPED lab-random: $needed is missing" >&2
        exit 0
    fi
done
"$chaos" emit --base "${BASE:-46}" --count "$count" 2>/dev/null | "$python" test/native.py | node test/random.mjs
