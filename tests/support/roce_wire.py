# SPDX-License-Identifier: MIT
"""RoCE packets as InfiniBand's specification has them, for tests: nothing here comes from the C++.

Headers from IBTA volume 1, chapter 9 and annexes A16 (RoCEv1) and A17 (RoCEv2); ICRC over the bytes
masked as 7.8.1 and annex A17 have it; and what tshark finds in a capture.
"""
import json
import struct
import subprocess
import zlib

# IBTA table 38: the operations (low 5 bits of an opcode) that carry each header.
HAS_RETH = (0x06, 0x0A, 0x0B, 0x0C)
HAS_ATOMIC = (0x13, 0x14)
HAS_AETH = (0x0D, 0x0F, 0x10, 0x11, 0x12)
HAS_IMMEDIATE = (0x03, 0x05, 0x09, 0x0B)
HAS_IETH = (0x16, 0x17)
CNP = 0x81
DATAGRAM = 3  # high 3 bits of an opcode

ETHER_TYPES = {0x0800: "ipv4", 0x86DD: "ipv6", 0x8915: "rocev1"}
NETWORK_BYTES = {"ipv4": 20 + 8, "ipv6": 40 + 8, "rocev1": 40}
PROTOCOLS = {"ipv4": ["eth", "ethertype", "ip", "udp", "infiniband"],
             "ipv6": ["eth", "ethertype", "ipv6", "udp", "infiniband"],
             "rocev1": ["eth", "ethertype", "infiniband"]}
ZERO_CHECKSUM = "Illegal checksum value (0)"  # of UDP over IPv6, which RFC 6935 allows to tunnels


def icrc(frame):
    """What the four bytes behind a frame's pad must be, whether they are there or not."""
    shape = shape_of(frame)
    packet = bytearray(frame[14:14 + ip_length(frame) - 4])
    if shape == "ipv4":
        for at in (1, 8, 10, 11):  # type of service, time to live, checksum
            packet[at] = 0xFF
    else:
        packet[0] |= 0x0F  # traffic class, flow label, hop limit
        packet[1:4] = b"\xff\xff\xff"
        packet[7] = 0xFF
    bth = NETWORK_BYTES[shape]
    if shape != "rocev1":
        packet[bth - 2:bth] = b"\xff\xff"  # UDP checksum
    packet[bth + 4] = 0xFF  # FECN, BECN, reserved
    return zlib.crc32(b"\xff" * 8 + bytes(packet)).to_bytes(4, "little")


def shape_of(frame):
    return ETHER_TYPES[int.from_bytes(frame[12:14], "big")]


def ip_length(frame):
    """From IP header or GRH to ICRC, as the header itself says."""
    if shape_of(frame) == "ipv4":
        return int.from_bytes(frame[16:18], "big")
    return 40 + int.from_bytes(frame[18:20], "big")


def parse(frame):
    """Transport headers by the names of tshark's fields, payload, ICRC."""
    return transport(frame, 14 + NETWORK_BYTES[shape_of(frame)], 14 + ip_length(frame))


def transport(frame, at, end):
    """The same of what lies between a BTH and the end of the ICRC."""
    opcode, flags, _, dest_qp, psn = struct.unpack(">BBHII", frame[at:at + 12])
    at += 12
    out = {"bth.opcode": opcode, "bth.padcnt": flags >> 4 & 3, "bth.destqp": dest_qp & 0xFFFFFF,
           "bth.a": psn >> 31, "bth.psn": psn & 0xFFFFFF}
    operation = opcode & 0x1F

    def take(present, layout, *names):
        nonlocal at
        if present:
            size = struct.calcsize(layout)
            out.update(zip(names, struct.unpack(layout, frame[at:at + size])))
            at += size

    take(opcode >> 5 == DATAGRAM, ">II", "deth.q_key", "deth.srcqp")
    take(operation in HAS_RETH, ">QII", "reth.va", "reth.r_key", "reth.dmalen")
    take(operation in HAS_ATOMIC, ">QIQQ", "reth.va", "reth.r_key", "atomiceth.swapdt",
         "atomiceth.cmpdt")
    take(operation in HAS_AETH, ">I", "aeth.syndrome")
    if "aeth.syndrome" in out:
        out["aeth.msn"] = out["aeth.syndrome"] & 0xFFFFFF
        out["aeth.syndrome"] >>= 24
    take(operation == 0x12, ">Q", "atomicacketh.origremdt")
    take(operation in HAS_IMMEDIATE, ">I", "immdt")
    take(operation in HAS_IETH, ">I", "ieth")
    out["payload"] = frame[at:end - 4 - out["bth.padcnt"]]
    out["icrc"] = frame[end - 4:end]
    return out


def dissect(path):
    """tshark's layers of each packet."""
    # It guesses that a SEND with fewer than 16 B is RPC over RDMA cut short, and complains.
    command = ["tshark", "-r", str(path), "-T", "json", "-o", "ip.check_checksum:TRUE",
               "-o", "udp.check_checksum:TRUE", "--disable-protocol", "rpcordma"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    packets = json.loads(run.stdout, object_pairs_hook=_keep_experts)
    return [packet["_source"]["layers"] for packet in packets]


def _keep_experts(pairs):
    """A dictionary that does not lose complaints of the same name."""
    merged = dict(pairs)
    if "_ws.expert" in merged:
        merged["_ws.expert"] = [value for name, value in pairs if name == "_ws.expert"]
    return merged


def complaints(tree):
    """What tshark finds malformed or remarkable."""
    if isinstance(tree, list):
        return [found for item in tree for found in complaints(item)]
    if not isinstance(tree, dict):
        return []
    found = [name for name in tree if "malformed" in name]
    found += [tree["_ws.expert.message"]] if "_ws.expert.message" in tree else []
    return found + complaints(list(tree.values()))


def flatten(tree, fields):
    """All fields of a dissection by name; the names are unique where tests look."""
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
    """A field's value; None if it is not there."""
    return None if text is None else int(text.replace(":", ""), 16 if ":" in text else 0)


def read_pcapng(data):
    """Interfaces and packets of a little-endian pcapng file, read from its specification."""
    interfaces, packets = [], []
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        body = data[at + 8:at + size - 4]
        assert struct.unpack_from("<I", data, at + size - 4) == (size,)
        at += size
        if kind == 1:
            interfaces.append(_options(body[8:]))
        elif kind == 6:
            interface, high, low, captured, original = struct.unpack_from("<IIIII", body)
            assert captured == original
            padded = (captured + 3) // 4 * 4
            packets.append({"interface": interface, "ps": high << 32 | low,
                            "frame": body[20:20 + captured], **_options(body[20 + padded:])})
    return interfaces, packets


def _options(data):
    found = {}
    while data:
        code, size = struct.unpack_from("<HH", data)
        if code == 0:
            break
        found[code] = data[4:4 + size]
        data = data[4 + (size + 3) // 4 * 4:]
    return found
