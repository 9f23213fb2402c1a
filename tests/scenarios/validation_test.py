#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every published row that this version claims stands in the ledger and passes."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROWS = {"N1", "N2", "N5", "N7", "P53", "T4 512 B", "T4 1 KiB", "T4 2 KiB", "T4 4 KiB", "T4 8 KiB",
        "T4 64 B (calibration)", "T7 8 B (calibration)", "F1 frame", "F1 100G", "F2 100G",
        "F3 spectrum1 100G 100 m", "F5 100G 100 m MTU 9216", "F6", "F8 (recalled)", "F20 100 m",
        "F20 5 m", "F21", "F22", "B2 1 port, the first", "B2 8 ports, the last", "L10", "N3",
        "S3 flooded", "S3 dropped", "S4 standstill", "S4 NIC watchdog", "S4 switch watchdog",
        "P8 Gen3 x8 MPS 256", "P9 Gen5 x16 MPS 256", "P20 host to card", "P20 card to host",
        "P22 write", "P22 read", "P22 PCIe-bound", "G1 bandwidth", "G1 latency",
        "G3 (calibration)"}


def main():
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([os.environ["RNICSIM"], "validate", "--jobs", "2", "--out", folder],
                                capture_output=True, text=True, check=False)
        documents = sorted(pathlib.Path(folder).glob("*.json"))
        ledger = json.loads(documents[0].read_text()) if documents else {"rows": []}
    found = {row["id"] for row in ledger["rows"]}
    if result.returncode != 0 or ROWS - found:
        sys.exit(f"exit {result.returncode}, missing {sorted(ROWS - found)}\n"
                 f"{result.stdout}{result.stderr}")


if __name__ == "__main__":
    main()
