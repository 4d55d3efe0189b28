#!/bin/sh
# Searches for inputs that break an invariant of the core. Needs a nightly Rust and cargo-fuzz.
#
#   run.sh [RUNS] [TARGET…]     RUNS inputs (a million when left out) for each target
#
# Prints, for each target, the inputs tried and the edges of the program that they covered. Ends with an error when a
# target finds something; the input then lies in artifacts/. What a search has found useful is kept in target/corpus and
# is where the next one goes on.
set -eu
cd "$(dirname "$0")"
runs=${1:-1000000}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- split connection decode_v1 decode_v2

cargo +nightly fuzz --version >/dev/null 2>&1 || {
    echo "cargo-fuzz is needed: cargo install cargo-fuzz, and a nightly Rust" >&2
    exit 1
}
work=target/corpus
mkdir -p "$work" target/logs
cargo build --quiet --release --bin seeds --bin worst
rm -rf target/seeds
target/release/seeds ../../tests/data/corpus target/seeds
echo "longest inputs, of the costliest shapes:"
target/release/worst >target/logs/worst.txt || { tail -5 target/logs/worst.txt; exit 1; }
awk '$(NF-1) > most { most = $(NF-1); line = $0 } END { print "  all checks of the slowest: " line }' target/logs/worst.txt

failed=0
for target in "$@"; do
    mkdir -p "$work/$target"
    log=target/logs/$target.txt
    # One second is the least that the fuzzer can be told; the targets themselves measure the 100 ms.
    if ! cargo +nightly fuzz run --fuzz-dir . --sanitizer none "$target" "$work/$target" "target/seeds/$target" -- \
        "-runs=$runs" -max_len=1048576 -timeout=1 -rss_limit_mb=512 -dict=target/seeds/dictionary \
        -print_final_stats=1 >"$log" 2>&1; then
        echo "$target: FOUND SOMETHING, see rust/fuzz/$log" >&2
        failed=1
    fi
    awk -v target="$target" '
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
        /number_of_executed_units/ { tried = $2 }
        /peak_rss_mb/ { memory = $2 }
        END { printf "%-12s %10d runs  %6d edges  %5d MiB\n", target, tried, edges, memory }' "$log"
done
exit $failed
