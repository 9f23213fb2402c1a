#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has scapy and tshark judge the frames that wire_format_frames writes.

Usage: wire_format_judge.py PROGRAM

Runs PROGRAM with the name of a capture file, and then compares every frame with the list below,
which is written from the InfiniBand specification and not from the C++: tshark must dissect exactly
these fields and find nothing malformed, a good IPv4 checksum, and nothing wrong but the zero UDP
checksum of IPv6; scapy must compute the same ICRC for IPv4, and zlib's crc32 over the bytes masked
here for IPv6 and RoCEv1, which scapy does not know. Exits 1 and says where, if anything differs.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from scapy.all import IP, UDP, Dot1Q, Ether, Raw, RawPcapReader
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.contrib.roce import AETH, BTH

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from roce_wire import (CNP, HAS_AETH, HAS_ATOMIC, HAS_IETH, HAS_IMMEDIATE, HAS_RETH, NETWORK_BYTES,
                       PROTOCOLS, ZERO_CHECKSUM, complaints, dissect, flatten, icrc, number)

RETH = {"va": 0x7F0012345678, "r_key": 0x00C0DE42, "dmalen": 0x12345}
ATOMIC = {"va": 0x7F0012345678, "r_key": 0x00C0DE42, "swap": 0x1122334455667788,
          "compare": 0x99AABBCCDDEEFF00}
ORIGINAL = 0x0102030405060708
DETH = {"q_key": 0x11111111, "srcqp": 0x0D0E0F}
FLOW_LABEL = 0x111  # from source port 0xc111
FRAME = {"shape": "ipv4", "from": 1, "to": 2, "destqp": 0x0A0B0C, "ack": 0, "payload": b"",
         "reth": None, "atomic": None, "aeth": None, "original": None, "immdt": None, "ieth": None,
         "deth": None, "tos": 0, "ttl": 64, "fecn": 0, "becn": 0, "tag": None}


def request(opcode, psn, length, ack, reth=False, immediate=False, elided=False):
    payload = bytes(0 if elided else (31 * i + psn) % 256 for i in range(length))
    return dict(FRAME, opcode=opcode, psn=psn, ack=ack, payload=payload,
                reth=RETH if reth else None, immdt=0xCAFEF00D if immediate else None,
                tos=26 << 2 | 2)


def answer(syndrome, msn, psn):
    return dict(FRAME, **{"from": 2, "to": 1}, opcode=0x11, psn=psn, destqp=0x11,
                aeth=(syndrome, msn))


# IBTA table 38: the operations without payload.
NO_PAYLOAD = (0x0C, 0x11, 0x12, 0x13, 0x14)
OPCODES = [*range(0x15), 0x16, 0x17, *range(0x20, 0x2C), 0x64, 0x65, CNP]


def of_opcode(byte, shape):
    operation = byte & 0x1F
    payload = bytes((31 * i + byte) % 256 for i in range(61))
    return dict(FRAME, shape=shape, opcode=byte, psn=byte, becn=int(byte == CNP),
                payload=bytes(16) if byte == CNP else b"" if operation in NO_PAYLOAD else payload,
                deth=DETH if byte >> 5 == 3 else None,
                reth=RETH if operation in HAS_RETH else None,
                atomic=ATOMIC if operation in HAS_ATOMIC else None,
                aeth=(7, 0x123456) if operation in HAS_AETH else None,
                original=ORIGINAL if operation == 0x12 else None,
                immdt=0xCAFEF00D if operation in HAS_IMMEDIATE else None,
                ieth=0x00BADB01 if operation in HAS_IETH else None)


def every_opcode(shape):
    frames = [of_opcode(byte, shape) for byte in OPCODES]
    # CE, DSCP and hop limit set on the way, under the ICRC of before. IPv4 has one above.
    if shape != "ipv4":
        frames.append(dict(frames[-1], tos=10 << 2 | 3, ttl=61))
    return frames


def tagged(shape, priority, drop_eligible, number):
    return dict(of_opcode(0x0B, shape), tag=(priority, drop_eligible, number))


def pause(*timers):
    """Of a class each, None for one that is not enabled; or of the whole link."""
    return {"pause": timers}


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
    *every_opcode("ipv4"),
    *every_opcode("ipv6"),
    *every_opcode("rocev1"),
    tagged("ipv4", 3, 0, 0),
    tagged("ipv6", 7, 1, 0xABC),
    tagged("rocev1", 0, 0, 1),
    pause(0x0102, None, None, 0xFFFF, None, None, None, 0),
    pause(0x8001),
]

failures = []


def check(frame, what, actual, expected):
    if actual != expected:
        failures.append(f"frame {frame}: {what} is {actual!r}, expected {expected!r}")


def extension(want):
    """The bytes between BTH and payload, from the specification's tables."""
    data = b""
    if want["deth"] is not None:
        data += want["deth"]["q_key"].to_bytes(4, "big") + want["deth"]["srcqp"].to_bytes(4, "big")
    if want["reth"] is not None:
        data += want["reth"]["va"].to_bytes(8, "big") + want["reth"]["r_key"].to_bytes(4, "big")
        data += want["reth"]["dmalen"].to_bytes(4, "big")
    if want["atomic"] is not None:
        data += want["atomic"]["va"].to_bytes(8, "big") + want["atomic"]["r_key"].to_bytes(4, "big")
        data += want["atomic"]["swap"].to_bytes(8, "big")
        data += want["atomic"]["compare"].to_bytes(8, "big")
    if want["aeth"] is not None:
        data += bytes(AETH(syndrome=want["aeth"][0], msn=want["aeth"][1]))
    if want["original"] is not None:
        data += want["original"].to_bytes(8, "big")
    for name in ("immdt", "ieth"):
        if want[name] is not None:
            data += want[name].to_bytes(4, "big")
    return data


def sizes(want):
    """Pad, IP or GRH packet length and frame length (without FCS) that the specification has."""
    pad = -len(want["payload"]) % 4
    ip = NETWORK_BYTES[want["shape"]] + 12 + len(extension(want)) + len(want["payload"]) + pad + 4
    return pad, ip, max(ethernet_bytes(want) + ip, 60)


def ethernet_bytes(want):
    return 18 if want["tag"] else 14


# ---- tshark ------------------------------------------------------------------------------------


def judge_by_tshark(frame, layers, want):
    fields = flatten(layers, {})
    shape = want["shape"]
    pad, ip_length, frame_length = sizes(want)

    def field(name):
        return number(fields.get(name))

    def check_fields(expected):
        for name, value in expected.items():
            check(frame, name, field(name), value)

    allowed = [ZERO_CHECKSUM] if shape == "ipv6" else []
    check(frame, "tshark complaints", complaints(layers), allowed)
    protocols = fields.get("frame.protocols", "").split(":")
    expected = ["eth", "ethertype"] + ["vlan", "ethertype"] * bool(want["tag"])
    expected += PROTOCOLS[shape][2:]
    check(frame, "protocols", protocols[:len(expected)], expected)
    check(frame, "frame.len", field("frame.len"), frame_length)
    check(frame, "frame time (ns)", fields.get("frame.time_epoch"), f"0.{frame:09d}")
    priority, drop_eligible, vlan = want["tag"] or (None, None, None)
    check_fields({"vlan.priority": priority, "vlan.dei": drop_eligible, "vlan.id": vlan})
    check(frame, "eth.src", fields.get("eth.src"), f"02:00:00:00:00:{want['from']:02x}")
    check(frame, "eth.dst", fields.get("eth.dst"), f"02:00:00:00:00:{want['to']:02x}")
    judge_network(frame, fields, want)
    if shape != "rocev1":
        check_fields({"udp.srcport": 0xC111, "udp.dstport": 4791,
                      "udp.length": ip_length - (20 if shape == "ipv4" else 40)})
    check_fields({
        "infiniband.bth.opcode": want["opcode"], "infiniband.bth.se": 0, "infiniband.bth.m": 1,
        "infiniband.bth.padcnt": pad, "infiniband.bth.tver": 0, "infiniband.bth.p_key": 0xFFFF,
        "infiniband.bth.destqp": want["destqp"], "infiniband.bth.a": want["ack"],
        "infiniband.bth.psn": want["psn"]})
    place = want["reth"] or want["atomic"] or {}
    atomic = want["atomic"] or {}
    syndrome, msn = want["aeth"] or (None, None)
    deth = want["deth"] or {}
    if want["opcode"] == CNP:
        return  # tshark knows no more of it than the BTH
    check_fields({
        "infiniband.reth.va": place.get("va"), "infiniband.reth.r_key": place.get("r_key"),
        "infiniband.reth.dmalen": place.get("dmalen"),
        "infiniband.atomiceth.swapdt": atomic.get("swap"),
        "infiniband.atomiceth.cmpdt": atomic.get("compare"),
        "infiniband.aeth.syndrome": syndrome, "infiniband.aeth.msn": msn,
        "infiniband.atomicacketh.origremdt": want["original"],
        "infiniband.immdt": want["immdt"], "infiniband.ieth": want["ieth"],
        "infiniband.deth.q_key": deth.get("q_key"), "infiniband.deth.srcqp": deth.get("srcqp")})


def judge_pause(frame, layers, packet, timers):
    fields = flatten(layers, {})
    names = {"eth.dst": "01:80:c2:00:00:01", "eth.src": mac(1), "frame.len": "60",
             "frame.time_epoch": f"0.{frame:09d}", "frame.protocols": "eth:ethertype:macc"}
    for name, value in names.items():
        check(frame, name, fields.get(name), value)
    check(frame, "tshark complaints", complaints(layers), [])
    built = Ether(src=mac(1), dst="01:80:c2:00:00:01", type=0x8808)
    if len(timers) == 1:
        numbers = {"macc.opcode": 1, "macc.pause_time": timers[0]}
        built /= MACControlPause(pause_time=timers[0])
    else:
        named = [p for p, timer in enumerate(timers) if timer is not None]
        numbers = {"macc.opcode": 0x0101, "macc.cbfc.enbv": sum(1 << p for p in named)}
        numbers.update({f"macc.cbfc.pause_time.c{p}": timers[p] or 0 for p in range(8)})
        built /= MACControlClassBasedFlowControl(
            **{f"c{p}_enabled": int(p in named) for p in range(8)},
            **{f"c{p}_pause_time": timers[p] or 0 for p in range(8)})
    for name, value in numbers.items():
        check(frame, name, number(fields.get(name)), value)
    check(frame, "bytes", packet[0].hex(), bytes(built).ljust(60, b"\0").hex())


def judge_network(frame, fields, want):
    """IPv4 header, IPv6 header or GRH."""
    ip_length = sizes(want)[1]
    addresses = {end: f"10.0.0.{want[end]}" for end in ("from", "to")}
    if want["shape"] == "ipv4":
        expected = {"ip.src": addresses["from"], "ip.dst": addresses["to"],
                    "ip.len": str(ip_length), "ip.id": f"0x{frame:04x}", "ip.flags.df": "1",
                    "ip.ttl": str(want["ttl"]), "ip.dsfield": f"0x{want['tos']:02x}",
                    "ip.checksum.status": "1"}  # good
    elif want["shape"] == "ipv6":
        expected = {"ipv6.src": f"fe80::ff:fe00:{want['from']}",
                    "ipv6.dst": f"fe80::ff:fe00:{want['to']}", "ipv6.plen": str(ip_length - 40),
                    "ipv6.nxt": "17", "ipv6.hlim": str(want["ttl"]),
                    "ipv6.flow": f"0x{FLOW_LABEL:06x}", "ipv6.tclass": f"0x{want['tos']:08x}"}
    else:
        expected = {"infiniband.grh.sgid": f"::ffff:{addresses['from']}",
                    "infiniband.grh.dgid": f"::ffff:{addresses['to']}",
                    "infiniband.grh.ipver": "6", "infiniband.grh.tclass": str(want["tos"]),
                    "infiniband.grh.flowlabel": str(FLOW_LABEL),
                    "infiniband.grh.paylen": str(ip_length - 40),
                    "infiniband.grh.nxthdr": str(0x1B), "infiniband.grh.hoplmt": str(want["ttl"])}
    for name, value in expected.items():
        check(frame, name, fields.get(name), value)


# ---- The bytes ---------------------------------------------------------------------------------


def mac(host):
    return f"02:00:00:00:00:{host:02x}"


def build_ipv4(frame, want):
    built = Ether(src=mac(want["from"]), dst=mac(want["to"]))
    if want["tag"]:
        built /= Dot1Q(**dict(zip(("prio", "id", "vlan"), want["tag"])))
    built /= IP(src=f"10.0.0.{want['from']}", dst=f"10.0.0.{want['to']}", id=frame, flags="DF",
                tos=want["tos"], ttl=want["ttl"])
    built /= UDP(sport=0xC111, dport=4791, chksum=0)
    built /= BTH(opcode=want["opcode"], migreq=1, padcount=sizes(want)[0], dqpn=want["destqp"],
                 ackreq=want["ack"], psn=want["psn"], fecn=want["fecn"], becn=want["becn"])
    built /= Raw(extension(want) + want["payload"] + bytes(sizes(want)[0]))
    return bytes(built)  # scapy fills in lengths, IPv4 checksum and ICRC


def gid(shape, host):
    if shape == "ipv6":
        return bytes.fromhex("fe80 0000 0000 0000 0000 00ff fe00") + host.to_bytes(2, "big")
    return bytes(10) + b"\xff\xff" + bytes([10, 0, 0, host])


def build_grh(want):
    """IPv6 or RoCEv1, with the ICRC over the bytes masked as IBTA 7.8.1 and annex A17 have it."""
    shape = want["shape"]
    pad, ip_length, _ = sizes(want)
    ethernet = bytes.fromhex((mac(want["to"]) + mac(want["from"])).replace(":", ""))
    ethernet += bytes.fromhex("86dd" if shape == "ipv6" else "8915")
    grh = (6 << 28 | want["tos"] << 20 | FLOW_LABEL).to_bytes(4, "big")
    grh += (ip_length - 40).to_bytes(2, "big")
    grh += bytes([17 if shape == "ipv6" else 0x1B, want["ttl"]])
    grh += gid(shape, want["from"]) + gid(shape, want["to"])
    udp = b""
    if shape == "ipv6":
        udp = bytes.fromhex("c11112b7") + (ip_length - 40).to_bytes(2, "big") + b"\0\0"
    start = bytes([want["opcode"], 0x40 | pad << 4, 0xFF, 0xFF])
    rest = want["destqp"].to_bytes(3, "big") + bytes([want["ack"] << 7])
    rest += want["psn"].to_bytes(3, "big")
    rest += extension(want) + want["payload"] + bytes(pad)
    flags = bytes([want["fecn"] << 7 | want["becn"] << 6])
    frame = ethernet + grh + udp + start + flags + rest
    sealed = frame + icrc(frame)
    if want["tag"] is None:
        return sealed
    priority, drop_eligible, vlan = want["tag"]
    control = priority << 13 | drop_eligible << 12 | vlan
    return sealed[:12] + bytes.fromhex("8100") + control.to_bytes(2, "big") + sealed[12:]


def judge_bytes(frame, packet, want):
    _, ip_length, frame_length = sizes(want)
    data = packet[0]
    check(frame, "length", len(data), frame_length)
    expected = build_ipv4(frame, want) if want["shape"] == "ipv4" else build_grh(want)
    end = ethernet_bytes(want) + ip_length
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
        packets = list(RawPcapReader(str(path)))
    check("list", "frames seen by tshark", len(dissections), len(EXPECTED))
    check("list", "frames seen by scapy", len(packets), len(EXPECTED))
    for index, (layers, packet, want) in enumerate(zip(dissections, packets, EXPECTED), start=1):
        if "pause" in want:
            judge_pause(index, layers, packet, want["pause"])
            continue
        judge_by_tshark(index, layers, want)
        judge_bytes(index, packet, want)
    for failure in failures:
        print(failure)
    print(f"{len(EXPECTED)} frames, {len(failures)} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
