#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shared by tools/run, tools/test and tools/bench: finds the root, installs what is missing, builds
# quietly. Everything said here goes to stderr, so that stdout stays the program's own.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# shellcheck disable=SC2034  # used by those who source this
build_packages=(g++ cmake ninja-build ccache pkg-config python3 libsystemc-dev catch2
  libboost-program-options-dev libfmt-dev nlohmann-json3-dev libpugixml-dev
  zlib1g-dev libjs-chart.js)
# shellcheck disable=SC2034
test_packages=(git clang libclang-rt-dev clang-format clang-tidy tshark python3-scapy
  python3-jsonschema chromium chromium-driver python3-selenium gtkwave openmpi-bin)

say() { echo "$*" >&2; }

# require_packages NAME... installs those Debian packages that are not there, or names them.
require_packages() {
  [[ -z "${RNICSIM_NO_INSTALL:-}" ]] || return 0
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "$0: there is no apt here. Install what these Debian packages hold: $*"
    say "$0: then set RNICSIM_NO_INSTALL=1 and start again."
    exit 2
  fi
  local missing=() package
  for package in "$@"; do
    # A substring match: dpkg-query fails for a package that was never heard of.
    [[ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" == *" installed" ]] ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    say "$0: these packages are missing; as root: apt-get install --no-install-recommends ${missing[*]}"
    exit 2
  fi
  say "$0: installing ${missing[*]}"
  local log
  log="$(mktemp)"
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y \
    --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    say "$0: could not install ${missing[*]}"
    exit 2
  fi
  rm -f "$log"
}

# build PRESET TARGET... builds; says so when it takes a while; shows the log on failure.
build() {
  local preset="$1" log="build/$1.log" ninja="build/$1/build.ninja"
  shift
  mkdir -p build
  { sleep 2 && say "$0: building ($preset); the log is $log"; } &
  local timer=$! built=yes
  if [[ ! -e "$ninja" || CMakePresets.json -nt "$ninja" ]]; then
    cmake --preset "$preset" >"$log" 2>&1 </dev/null || built=no
  fi
  if [[ "$built" == yes ]]; then
    cmake --build "build/$preset" --target "$@" >"$log" 2>&1 </dev/null || built=no
  fi
  kill "$timer" 2>/dev/null || true
  wait "$timer" 2>/dev/null || true
  [[ "$built" == no ]] || return 0
  # What ninja says of each step that went well does not help.
  grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Re-)' "$log" | tail -n 60 >&2
  say "$0: the build failed; the whole log is $log"
  return 1
}
