#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails when an include points against the order of the folders.

tools -> scenarios/engine -> {nic, host, fabric} -> model; nothing goes sideways. Tests may include
anything, and nobody includes tests. The check first proves itself on a planted tree.
"""
import pathlib
import re
import sys
import tempfile

ALLOWED = {
    "model": {"model"},
    "host": {"host", "model"},
    "nic": {"nic", "model"},
    "fabric": {"fabric", "model"},
    "scenarios": {"scenarios", "host", "nic", "fabric", "model"},
    "tools": {"tools", "scenarios", "host", "nic", "fabric", "model"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
FOLDERS = set(ALLOWED) | {"tests"}


def violations(root):
    """Yields `file includes header` for each include that its folder must not have."""
    for folder, allowed in ALLOWED.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".in"):
                continue
            for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
                target = header.split("/")[0]
                relative = header.startswith(".") or (path.parent / header).exists()
                if relative and not (root / header).exists():
                    yield f"{path.relative_to(root)} includes {header} not from the root"
                elif target in FOLDERS and target not in allowed:
                    yield f"{path.relative_to(root)} includes {header}"


def prove():
    """The check finds each planted include that is wrong, and no other."""
    good = {
        "nic/nic.h": '#include "model/units.h"\n#include <systemc>\n#include "nic/nic.h"\n',
        "scenarios/engine/system.cpp": '#include "host/host.h"\n#include "nic/nic.h"\n',
        "tools/rnicsim/main.cpp": '#include "scenarios/engine/player.h"\n',
        "tests/nic/nic_test.cpp": '#include "host/host.h"\n#include "tests/support/fake.h"\n',
    }
    bad = {
        "model/units.h": '#include "nic/nic.h"\n',
        "nic/dma.cpp": '#include "host/memory.h"\n',
        "host/driver.h": '  #  include <fabric/link.h>\n',
        "fabric/congestion/x.cpp": '#include "scenarios/engine/system.h"\n',
        "scenarios/engine/x.h": '#include "tools/rnicsim/main.h"\n',
        "nic/y.h": '#include "tests/support/fake.h"\n',
        "nic/z.h": '#include "nic.h"\n',
        "host/w.h": '#include "../nic/nic.h"\n',
    }
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in {**good, **bad}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        found = {violation.split(" includes ")[0] for violation in violations(root)}
    assert found == set(bad), f"planted {sorted(bad)}, found {sorted(found)}"


def main():
    prove()
    root = pathlib.Path(__file__).resolve().parents[2]
    found = list(violations(root))
    print("\n".join(found) if found else "every include follows the order of the folders")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
