#!/bin/sh
# Makes axpy.ptx of axpy.rs. Debian: apt-get install rustc rust-src
# The target comes without its core library, so that is compiled first, from its sources, into a folder that goes again; so
# is compiler_builtins, of which these kernels need nothing. RUSTC_BOOTSTRAP lets a released compiler use what is not
# stable yet: the calling convention of kernels and the registers of a thread.
set -eu
cd "$(dirname "$0")"
rustc=${RUSTC:-/usr/bin/rustc}
export RUSTC_BOOTSTRAP=1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
options="--edition 2021 --target nvptx64-nvidia-cuda -C target-cpu=sm_50 -O -C panic=abort --cap-lints allow -L $out"
core=$("$rustc" --print sysroot)/lib/rustlib/src/rust/library/core/src/lib.rs
"$rustc" $options --crate-type rlib --crate-name core --out-dir "$out" "$core"
echo '#![feature(compiler_builtins)] #![compiler_builtins] #![no_std]' >"$out/none.rs"
"$rustc" $options --crate-type rlib --crate-name compiler_builtins --out-dir "$out" "$out/none.rs"
"$rustc" $options --crate-type cdylib --emit asm=axpy.ptx axpy.rs
