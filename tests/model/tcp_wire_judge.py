#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has scapy and tshark judge the segments that tcp_wire_frames writes.

Usage: tcp_wire_judge.py PROGRAM

Runs PROGRAM with the name of a capture file, and then compares every frame with the list below:
scapy must build the same bytes from it, checksums and all, and tshark must find the checksums good,
nothing malformed, and in SYN and SACK options what the list says. Exits 1 and says where, if
anything differs.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from scapy.all import IP, TCP, Ether, Raw, RawPcapReader

TIMESTAMP = ("Timestamp", (0x0A0B0C0D, 0x01000002))
STAMPED = [("NOP", None), ("NOP", None), TIMESTAMP]
ACK = 0x01020304
NOT_CAPABLE, CAPABLE, CONGESTION = 0, 2, 3


def sack(blocks):
    edges = [edge for i in range(blocks)
             for edge in (ACK + 3000 * (i + 1), ACK + 3000 * (i + 1) + 9)]
    return [("NOP", None), ("NOP", None), ("SAck", tuple(edges))]


def segment(flags, options=(), length=0, ecn=NOT_CAPABLE, elided=False, ack=ACK):
    return dict(flags=flags, options=list(options), length=length, ecn=ecn, elided=elided, ack=ack)


EXPECTED = [
    segment("SEC", [("MSS", 8960), ("SAckOK", b""), TIMESTAMP, ("NOP", None), ("WScale", 7)],
            ack=0),
    segment("S", [("NOP", None), ("NOP", None), ("SAckOK", b"")]),
    segment("A"),
    segment("A", length=1),
    segment("A", STAMPED, 1448, CAPABLE),
    segment("A", STAMPED, 8948, CONGESTION),
    segment("A", STAMPED, 777, CAPABLE, elided=True),
    segment("FPAC", STAMPED, 2),
    segment("RA"),
    segment("AE", STAMPED),
    segment("A", STAMPED + sack(3)),
    segment("A", sack(4)),
]

FIELDS = ["ip.checksum.status", "tcp.checksum.status", "tcp.len", "tcp.options.mss_val",
          "tcp.options.wscale.shift", "tcp.options.sack.count", "_ws.malformed", "ip.dsfield.ecn"]
GOOD = "1"

failures = []


def check(frame, what, actual, expected):
    if actual != expected:
        failures.append(f"frame {frame}: {what} is {actual!r}, expected {expected!r}")


def payload(frame, want):
    return bytes(0 if want["elided"] else (31 * i + frame) % 256 for i in range(want["length"]))


def build(frame, want):
    built = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    built /= IP(src="10.0.0.1", dst="10.0.0.2", id=frame, flags="DF", tos=want["ecn"])
    built /= TCP(sport=40000, dport=5001, seq=0xFFFFFFF0, ack=want["ack"], flags=want["flags"],
                 window=0x1234, options=want["options"])
    if want["length"]:
        built /= Raw(payload(frame, want))
    return bytes(built).ljust(60, b"\0")


def dissect(path):
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "occurrence=a"]
    for preference in ("tcp.check_checksum", "ip.check_checksum"):
        command += ["-o", f"{preference}:TRUE"]
    for field in FIELDS:
        command += ["-e", field]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [dict(zip(FIELDS, line.split("\t"))) for line in output.splitlines()]


def judge_by_tshark(frame, fields, want):
    options = dict(want["options"])
    blocks = len(options["SAck"]) // 2 if "SAck" in options else ""
    expected = {"ip.checksum.status": GOOD, "tcp.checksum.status": GOOD, "_ws.malformed": "",
                "tcp.len": str(want["length"]), "tcp.options.sack.count": str(blocks),
                "tcp.options.mss_val": str(options.get("MSS", "")),
                "tcp.options.wscale.shift": str(options.get("WScale", "")),
                "ip.dsfield.ecn": str(want["ecn"])}
    for name, value in expected.items():
        check(frame, name, fields[name], value)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.pcap"
        subprocess.run([sys.argv[1], str(path)], check=True)
        dissections = dissect(path)
        frames = [packet[0] for packet in RawPcapReader(str(path))]
    check("list", "frames seen by tshark", len(dissections), len(EXPECTED))
    check("list", "frames seen by scapy", len(frames), len(EXPECTED))
    for number, (fields, data, want) in enumerate(zip(dissections, frames, EXPECTED), start=1):
        judge_by_tshark(number, fields, want)
        check(number, "bytes", data.hex(), build(number, want).hex())
    for failure in failures:
        print(failure)
    print(f"{len(EXPECTED)} frames, {len(failures)} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
