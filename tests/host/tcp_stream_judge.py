#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has tshark follow the TCP connections that tcp_stream_frames writes.

Usage: tcp_stream_judge.py PROGRAM

tshark must see whole conversations with good checksums, put the bytes together that were written,
and say nothing of the first, repairs of exactly the losses of the second, and of the third a full
window, probes and its opening. Exits 1 and says where, if anything differs.
"""

import collections
import subprocess
import sys
import tempfile
from pathlib import Path

GOOD = "1"
COMPLETE = "31"  # tcp.completeness: SYN, SYN and ACK, ACK, data, FIN
# By stream: bytes from A, from B, and how often tshark remarks what.
EXPECTED = [
    (200000, 50000, {}),
    # One of the three is a fast one, which counts as both.
    (144800, 0, {"duplicate_ack": None, "fast_retransmission": 1, "retransmission": 3,
                 "window_update": None}),
    # The last segment waits for a delayed acknowledgement, and a probe of the tail is sooner.
    (60000, 0, {"window_full": 1, "zero_window": 3, "keep_alive": 2, "window_update": 1,
                "retransmission": 1}),
]
REMARKS = ["ack_lost_segment", "duplicate_ack", "fast_retransmission",
           "keep_alive", "keep_alive_ack", "lost_segment", "out_of_order", "retransmission",
           "reused_ports", "spurious_retransmission", "window_full", "window_update",
           "zero_window", "zero_window_probe", "zero_window_probe_ack"]

failures = []


def check(what, actual, expected):
    if actual != expected:
        failures.append(f"{what} is {actual!r}, expected {expected!r}")


def tshark(path, *arguments):
    command = ["tshark", "-r", str(path), "-o", "tcp.check_checksum:TRUE", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def pattern(name, length):
    return bytes((offset * 0x9E3779B97F4A7C15 % 2**64 >> 56) ^ ord(name)
                 for offset in range(length))


def judge_frames(path):
    fields = ["tcp.stream", "tcp.completeness", "tcp.checksum.status", "_ws.malformed"]
    arguments = ["-T", "fields", *(word for field in fields for word in ("-e", field))]
    complete = {}
    for line in tshark(path, *arguments).splitlines():
        stream, complete[stream], checksum, malformed = line.split("\t")
        check(f"stream {stream}: checksum, malformed", (checksum, malformed), (GOOD, ""))
    check("completeness", complete, {str(i): COMPLETE for i in range(len(EXPECTED))})


def remarks_by_stream(path):
    seen = collections.defaultdict(collections.Counter)
    names = [f"tcp.analysis.{remark}" for remark in REMARKS]
    arguments = ["-e", "tcp.stream", *(word for name in names for word in ("-e", name))]
    for line in tshark(path, "-T", "fields", *arguments).splitlines():
        stream, *values = line.split("\t")
        for name, value in zip(names, values):
            if value:
                seen[int(stream)][name.rsplit(".", 1)[1]] += 1
    return seen


def judge_bytes(path, stream, from_a, from_b):
    """`follow` indents what the second side sent."""
    text = tshark(path, "-q", "-z", f"follow,tcp,raw,{stream}").splitlines()
    lines = [line for line in text if set(line.strip()) <= set("0123456789abcdef") and line.strip()]
    sides = ["".join(line for line in lines if not line.startswith("\t")),
             "".join(line.strip() for line in lines if line.startswith("\t"))]
    check(f"stream {stream}: what A wrote", bytes.fromhex(sides[0]) == pattern("A", from_a), True)
    check(f"stream {stream}: what B wrote", bytes.fromhex(sides[1]) == pattern("B", from_b), True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "streams.pcap"
        subprocess.run([sys.argv[1], str(path)], check=True)
        judge_frames(path)
        remarks = remarks_by_stream(path)
        for stream, (from_a, from_b, expected) in enumerate(EXPECTED):
            judge_bytes(path, stream, from_a, from_b)
            check(f"stream {stream}: remarks", set(remarks[stream]), set(expected))
            for remark, count in expected.items():
                if count is not None:
                    check(f"stream {stream}: {remark}", remarks[stream][remark], count)
    for failure in failures[:20]:
        print(failure)
    print(f"{len(EXPECTED)} connections, {len(failures)} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
