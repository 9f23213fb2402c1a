#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has scapy and tshark judge the frames that wire_format_frames writes.

Usage: wire_format_judge.py PROGRAM

Runs PROGRAM with the name of a capture file, and then compares every frame with the list below,
which is written from the InfiniBand specification and not from the C++: tshark must dissect exactly
these fields, find nothing malformed and a good IPv4 checksum; scapy must compute the same ICRC.
Exits 1 and says where, if anything differs.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from scapy.all import IP, UDP, Ether, Raw, rdpcap
from scapy.contrib.roce import AETH, BTH

RETH = {"va": 0x7F0012345678, "r_key": 0x00C0DE42, "dmalen": 0x12345}


def request(opcode, psn, length, ack, reth=False, immediate=False, elided=False):
    payload = bytes(0 if elided else (31 * i + psn) % 256 for i in range(length))
    return {"from": 1, "to": 2, "opcode": opcode, "psn": psn, "destqp": 0x0A0B0C, "ack": ack,
            "payload": payload, "reth": RETH if reth else None,
            "immdt": 0xCAFEF00D if immediate else None, "aeth": None,
            "tos": 26 << 2 | 2, "ttl": 64, "fecn": 0}


def answer(syndrome, msn, psn):
    return {"from": 2, "to": 1, "opcode": 0x11, "psn": psn, "destqp": 0x11, "ack": 0,
            "payload": b"", "reth": None, "immdt": None, "aeth": (syndrome, msn),
            "tos": 0, "ttl": 64, "fecn": 0}


EXPECTED = [
    request(0x06, 0xFFFFFE, 4096, 0, reth=True),
    request(0x07, 0xFFFFFF, 4096, 0),
    request(0x08, 0, 1, 1),
    request(0x08, 1, 1022, 1),
    request(0x09, 2, 1023, 1, immediate=True),
    request(0x0A, 3, 0, 1, reth=True),
    request(0x0A, 4, 1, 1, reth=True),
    request(0x0A, 5, 2, 0, reth=True),
    request(0x0A, 6, 3, 1, reth=True),
    request(0x0A, 7, 4, 1, reth=True),
    request(0x0B, 8, 61, 1, reth=True, immediate=True),
    request(0x0A, 9, 777, 1, reth=True, elided=True),
    request(0x04, 10, 0, 1),
    request(0x0C, 11, 0, 1, reth=True),
    dict(request(0x07, 12, 0, 0), payload=bytes(range(256)), tos=10 << 2 | 3, ttl=61, fecn=1),
    answer(0x1F, 1, 0),
    answer(0x07, 0x123456, 8),
    answer(0x60, 2, 9),
    answer(0x61, 3, 10),
    answer(0x62, 4, 11),
    answer(0x63, 5, 12),
    answer(0x20 | 14, 6, 13),
]

failures = []


def check(frame, what, actual, expected):
    if actual != expected:
        failures.append(f"frame {frame}: {what} is {actual!r}, expected {expected!r}")


def sizes(want):
    """Pad, IPv4 length and frame length (without FCS) that the specification asks for."""
    pad = -len(want["payload"]) % 4
    ip = 20 + 8 + 12 + len(want["payload"]) + pad + 4
    ip += 16 * (want["reth"] is not None)
    ip += 4 * (want["aeth"] is not None) + 4 * (want["immdt"] is not None)
    return pad, ip, max(14 + ip, 60)


# ---- tshark ------------------------------------------------------------------------------------


def dissect(path):
    # tshark guesses that a SEND with fewer than 16 B is RPC over RDMA cut short, and complains.
    command = ["tshark", "-r", str(path), "-T", "json", "-o", "ip.check_checksum:TRUE",
               "-o", "udp.check_checksum:TRUE", "--disable-protocol", "rpcordma"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [packet["_source"]["layers"] for packet in json.loads(run.stdout)]


def flatten(tree, fields):
    """All fields of a dissection by name; the names are unique where this script looks."""
    if isinstance(tree, list):
        for item in tree:
            flatten(item, fields)
    elif isinstance(tree, dict):
        for name, value in tree.items():
            if isinstance(value, (dict, list)):
                fields.setdefault(name, "")
                flatten(value, fields)
            else:
                fields[name] = value
    return fields


def number(text):
    return None if text is None else int(text.replace(":", ""), 16 if ":" in text else 0)


def judge_by_tshark(frame, layers, want):
    fields = flatten(layers, {})
    pad, ip_length, frame_length = sizes(want)

    def field(name):
        return number(fields.get(name))

    broken = [name for name in fields if "malformed" in name or name.startswith("_ws.expert")]
    check(frame, "tshark complaints", broken, [])
    protocols = fields.get("frame.protocols", "").split(":")
    check(frame, "protocols", protocols[:5], ["eth", "ethertype", "ip", "udp", "infiniband"])
    check(frame, "frame.len", field("frame.len"), frame_length)
    check(frame, "frame time (ns)", fields.get("frame.time_epoch"), f"0.{frame:09d}")
    check(frame, "eth.src", fields.get("eth.src"), f"02:00:00:00:00:{want['from']:02x}")
    check(frame, "eth.dst", fields.get("eth.dst"), f"02:00:00:00:00:{want['to']:02x}")
    check(frame, "ip.src", fields.get("ip.src"), f"10.0.0.{want['from']}")
    check(frame, "ip.dst", fields.get("ip.dst"), f"10.0.0.{want['to']}")
    check(frame, "ip.len", field("ip.len"), ip_length)
    check(frame, "ip.id", field("ip.id"), frame)
    check(frame, "ip.flags.df", fields.get("ip.flags.df"), "1")
    check(frame, "ip.ttl", field("ip.ttl"), want["ttl"])
    check(frame, "ip.dsfield", field("ip.dsfield"), want["tos"])
    check(frame, "ip.checksum.status (1 = good)", fields.get("ip.checksum.status"), "1")
    check(frame, "udp.srcport", field("udp.srcport"), 0xC111)
    check(frame, "udp.dstport", field("udp.dstport"), 4791)
    check(frame, "udp.length", field("udp.length"), ip_length - 20)
    check(frame, "bth.opcode", field("infiniband.bth.opcode"), want["opcode"])
    check(frame, "bth.se", fields.get("infiniband.bth.se"), "0")
    check(frame, "bth.m", fields.get("infiniband.bth.m"), "1")
    check(frame, "bth.padcnt", field("infiniband.bth.padcnt"), pad)
    check(frame, "bth.tver", field("infiniband.bth.tver"), 0)
    check(frame, "bth.p_key", field("infiniband.bth.p_key"), 0xFFFF)
    check(frame, "bth.destqp", field("infiniband.bth.destqp"), want["destqp"])
    check(frame, "bth.a", field("infiniband.bth.a"), want["ack"])
    check(frame, "bth.psn", field("infiniband.bth.psn"), want["psn"])
    for name in ("va", "r_key", "dmalen"):
        expected = None if want["reth"] is None else want["reth"][name]
        check(frame, f"reth.{name}", field(f"infiniband.reth.{name}"), expected)
    syndrome, msn = want["aeth"] or (None, None)
    check(frame, "aeth.syndrome", field("infiniband.aeth.syndrome"), syndrome)
    check(frame, "aeth.msn", field("infiniband.aeth.msn"), msn)
    check(frame, "immdt", field("infiniband.immdt"), want["immdt"])


# ---- scapy -------------------------------------------------------------------------------------


def judge_by_scapy(frame, packet, want):
    pad, ip_length, frame_length = sizes(want)
    data = bytes(packet)
    check(frame, "length", len(data), frame_length)
    extension = b""
    if want["reth"] is not None:
        reth = want["reth"]
        extension += reth["va"].to_bytes(8, "big") + reth["r_key"].to_bytes(4, "big")
        extension += reth["dmalen"].to_bytes(4, "big")
    if want["aeth"] is not None:
        extension += bytes(AETH(syndrome=want["aeth"][0], msn=want["aeth"][1]))
    if want["immdt"] is not None:
        extension += want["immdt"].to_bytes(4, "big")
    built = Ether(src=f"02:00:00:00:00:{want['from']:02x}", dst=f"02:00:00:00:00:{want['to']:02x}")
    built /= IP(src=f"10.0.0.{want['from']}", dst=f"10.0.0.{want['to']}", id=frame, flags="DF",
                tos=want["tos"], ttl=want["ttl"])
    built /= UDP(sport=0xC111, dport=4791, chksum=0)
    built /= BTH(opcode=want["opcode"], migreq=1, padcount=pad, dqpn=want["destqp"],
                 ackreq=want["ack"], psn=want["psn"], fecn=want["fecn"])
    built /= Raw(extension + want["payload"] + bytes(pad))
    expected = bytes(built)  # scapy fills in lengths, IPv4 checksum and ICRC
    end = 14 + ip_length
    check(frame, "ICRC", data[end - 4:end].hex(), expected[-4:].hex())
    check(frame, "bytes before the ICRC", data[:end - 4].hex(), expected[:-4].hex())
    check(frame, "Ethernet padding", data[end:], bytes(frame_length - end))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.pcap"
        subprocess.run([sys.argv[1], str(path)], check=True)
        dissections = dissect(path)
        packets = rdpcap(str(path))
    check("list", "frames seen by tshark", len(dissections), len(EXPECTED))
    check("list", "frames seen by scapy", len(packets), len(EXPECTED))
    for index, (layers, packet, want) in enumerate(zip(dissections, packets, EXPECTED), start=1):
        judge_by_tshark(index, layers, want)
        judge_by_scapy(index, packet, want)
    for failure in failures:
        print(failure)
    print(f"{len(EXPECTED)} frames, {len(failures)} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
