#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every published row that this version claims stands in the ledger and passes."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROWS = {"N1", "N2", "N5", "N7", "P53", "T4 write_bw 512 B", "T4 write_bw 1K", "T4 write_bw 2K",
        "T4 write_bw 4K", "T4 write_bw 8K", "T4 write_bw 64 B (calibration)",
        "T7 8 B (calibration)", "T7 write_lat 8 B (calibration)", "T1 write_lat 2 B (calibration)",
        "T2 write_lat 2 B (calibration)", "P22 write", "P22 read", "L1 T1", "L1 T2", "L2 T1",
        "L2 T2 (calibration)",
        "L3 T1", "L3 T7", "L4 T1 4K", "L4 T2 4K", "L5", "L6", "L7", "L8 T1 64K to 1M",
        "L8 T2 4K to 64K", "L9 T1", "L9 T2", "L10", "L11 p99 write_lat", "L11 p999 write_lat",
        "T8 send_lat 4K", "T10 write_4m_2qp", "F1 frame", "F1 100G", "F2 100G",
        "F3 spectrum1 100G 100 m", "F5 100G 100 m MTU 9216", "F6", "F8 (recalled)", "F20 100 m",
        "F20 5 m", "F21", "F22", "B2 1 port, the first", "B2 8 ports, the last", "N3",
        "S3 flooded", "S3 dropped", "S4 standstill", "S4 NIC watchdog", "S4 switch watchdog",
        "1.4 write 512 B", "1.4 read 2048 B", "P31 E5-2630 v4", "P33 E5-2630 v4 read 512 B", "P34",
        "P35 cache rises at 64 MB", "P35 DDIO window rises at 4 MB", "P40 2 MB", "P42 write 64 B",
        "P43 64 MB", "P44", "P45",
        "P1, P2, P3 Gen3 x8", "P4 MWr64", "P4 CplD", "P5 DLLPs", "P6 Gen3 x8 MPS 256",
        "P7 Gen5 x16", "P10 MPS", "P10 RCB", "P11 completions", "P25 BlueFlame", "P25 doorbell",
        "P26", "P50 store (calibration)", "P51 (calibration)", "P52 (calibration)",
        "1.5 E5-2637 v3 command write and read 64 B (calibration)",
        "1.5 E5-2630 v4 write and read 1024 B",
        "P8 Gen3 x8 MPS 256", "P9 Gen5 x16 MPS 256", "P20 host to card", "P20 card to host",
        "G1 bandwidth", "G1 latency", "G3 (calibration)",
        "K1, P24", "K1 batched, P23", "K2", "K5", "K7 Connect-IB below the knee",
        "K7 Connect-IB above the knee", "K7 ConnectX-3 below the knee",
        "K7 ConnectX-3 above the knee", "K10 one queue pair", "K10 two queue pairs", "K11", "K12",
        "M1 below the knee", "M1 above the knee", "M2", "Q7, 120 queue pairs",
        "Q7, 240 queue pairs", "R3 registration, a page", "R3 deregistration, a page", "R4",
        "H1 (calibration)", "H2", "H3 receiver", "H3 sender", "H4", "H6 incast of 8 (recalled)",
        "H7 steering (recalled)", "H7 jumbo frames (recalled)", "H7 TSO and GRO (recalled)", "H8",
        "H9 MTU 1500, steered", "H9 MTU 9000, steered", "H12 MTU 1500", "H12 MTU 4000",
        "H12 MTU 9000", "H13 16 us (calibration)", "H13 32 frames (calibration)", "H14",
        "H17 TCP sender, bytes copied", "H17 TCP receiver, bytes copied",
        "H17 TCP sender, copies of answers", "H17 TCP receiver, copies of answers",
        "H17 SEND, A", "H17 SEND, B", "H17 WRITE, A", "H17 WRITE, B", "H17 READ, A", "H17 READ, B",
        "D3 WRITE (recalled)", "D3 SEND (recalled)",
        "E1 K = 16640 B", "E1 K = 66560 B", "E1 K = 199680 B", "P56 pipelined",
        "P56 not pipelined", "P60 simple, transmit, 64 B", "P60 kernel, transmit, 64 B",
        "P60 dpdk, transmit, 64 B", "P60 simple, receive, 1024 B", "P60 dpdk, both ways, 1499 B"}


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
