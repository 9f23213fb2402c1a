# SPDX-License-Identifier: MIT
"""InfiniBand's packets as the specification has them, for tests: nothing here comes from the C++.

LRH, ICRC and VCRC from IBTA volume 1, 7.7 and 7.8, flow control packets from 7.9.4; the records that
captures keep them in from Endace's ERF types reference.
"""
import struct
import zlib

from roce_wire import transport

DATA, LINK = 21, 25  # ERF types
LRH_BYTES = 8


def record(frame):
    """Type and content of an extensible record."""
    kind, _, length, _, wire_length = struct.unpack(">BBHHH", frame[8:16])
    assert length == len(frame) and wire_length == len(frame) - 16
    return kind, frame[16:]


def vcrc(data):
    """Of LRH to ICRC, or of the first four bytes of a flow control packet; bit by bit."""
    crc = 0xFFFF
    for byte in data:
        for bit in range(8):
            feedback = (crc ^ byte >> bit) & 1
            crc = crc >> 1 ^ (0xD008 if feedback else 0)  # x^16 + x^12 + x^3 + x + 1, reversed
    return (crc ^ 0xFFFF).to_bytes(2, "little")


def icrc(packet):
    """What the four bytes before the VCRC must be."""
    covered = bytearray(packet[:-6])
    covered[0] |= 0xF0  # virtual lane
    covered[LRH_BYTES + 4] = 0xFF  # FECN, BECN, reserved
    return zlib.crc32(bytes(covered)).to_bytes(4, "little")


def parse(packet):
    """LRH and transport headers by the names of tshark's fields, payload, ICRC, VCRC."""
    lane, level, destination, words, source = struct.unpack(">BBHHH", packet[:LRH_BYTES])
    out = {"lrh.vl": lane >> 4, "lrh.lver": lane & 15, "lrh.sl": level >> 4, "lrh.lnh": level & 3,
           "lrh.dlid": destination, "lrh.pktlen": words, "lrh.slid": source,
           "vcrc": packet[-2:]}
    out.update(transport(packet, LRH_BYTES, len(packet) - 2))
    return out


def flow_control(packet):
    """By the names of tshark's fields."""
    first, second, crc = struct.unpack(">HHH", packet[:6])
    return {"op": first >> 12, "fctbs": first & 0xFFF, "vl": second >> 12, "fccl": second & 0xFFF,
            "lpcrc": crc}


def blocks(packet):
    return (len(packet) + 63) // 64
