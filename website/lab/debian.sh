#!/usr/bin/env bash
# Builds the module with Debian's packages where no toolchain has the target. They are newer than the release's own Rust
# and conflict with it, so they are unpacked into target/debian and not installed.
set -euo pipefail
target=$1
home=target/debian
packages=(rustc-web libstd-rust-web-1.96 libstd-rust-web-dev rust-web-src libllvm22 lld-22)

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || exit 1
if [ ! -e "$home/ready" ]; then
    rm -rf "$home" && mkdir -p "$home/root"
    (cd "$home" && apt-get update -qq && apt-get download -qq "${packages[@]}") >/dev/null 2>&1 || exit 1
    for package in "$home"/*.deb; do dpkg-deb -x "$package" "$home/root"; done
    rm "$home"/*.deb
    touch "$home/ready"
fi
root=$PWD/$home/root/usr
export LD_LIBRARY_PATH=$root/lib/x86_64-linux-gnu RUSTC=$root/bin/rustc RUSTC_BOOTSTRAP=1
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$root/bin/wasm-ld-22
cargo build --locked --quiet --package dumbbell-web --profile "$LAB_PROFILE" --target "$target" -Z build-std=std,panic_abort
