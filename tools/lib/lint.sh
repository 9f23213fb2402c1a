#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# clang-format and clang-tidy for tools/test. Needs common.sh.

# Sources and headers, one a line; with or without a git repository.
our_sources() {
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' |
      while read -r file; do [[ ! -e "$file" ]] || echo "$file"; done
  else
    find model host nic fabric scenarios tools tests -name '*.h' -o -name '*.cpp' | sort
  fi
}

# Those that differ from the base, committed or not. Everything, when no commit tells.
changed_sources() {
  local base="${RNICSIM_BASE:-}"
  [[ -n "$base" ]] || base="$(git merge-base HEAD origin/main 2>/dev/null || true)"
  if [[ -z "$base" || "$base" == "$(git rev-parse HEAD 2>/dev/null)" ]]; then
    base="$(git rev-parse --verify --quiet HEAD~1 || true)"
  fi
  if [[ -z "$base" ]]; then
    our_sources
    return
  fi
  { git diff --name-only --diff-filter=d "$base" -- '*.h' '*.cpp' &&
    git ls-files --others --exclude-standard -- '*.h' '*.cpp'; } | sort -u
}

# format_is_clean JOBS
format_is_clean() {
  local report
  report="$(our_sources | xargs -r -P "$1" -n 50 clang-format --dry-run -Werror 2>&1 |
    sed -nE 's/^([^:]+):.*\[-Wclang-format-violations\]$/\1/p' | sort -u)"
  [[ -n "$report" ]] || return 0
  echo "clang-format -i would change:"
  echo "$report"
  return 1
}

# tidy_is_clean JOBS reads file names from stdin. A header is seen through the source of its name,
# or through the test of its name when it has none. Needs the precompiled headers of clang's build.
tidy_is_clean() {
  build sanitize rnicsim_model rnicsim_test_headers || return 1
  local file candidate sources=()
  while read -r file; do
    candidate="$file"
    if [[ "$file" == *.h ]]; then
      candidate="${file%.h}.cpp"
      [[ -e "$candidate" ]] || candidate="tests/${file%.h}_test.cpp"
    fi
    [[ ! -e "$candidate" ]] || sources+=("$candidate")
  done
  ((${#sources[@]})) || return 0
  printf '%s\0' "${sources[@]}" | sort -zu |
    xargs -0 -P "$1" -n 1 clang-tidy -p build/sanitize --quiet 2>/dev/null
}
