// SPDX-License-Identifier: MIT
#include "host/kernel/kernel_config.h"

#include "model/config_reader.h"

namespace rnicsim {

namespace {

bool is_whole(Time time) { return Time::us(time / Time::us(1)) == time; }

void describe_costs(KernelConfig& c, Fields& f) {
  const auto cycles = range(Cycles(0), Cycles(1000000));
  f.field("syscall", c.syscall, cycles, "a system call on a socket, in and out");
  f.field("copy_miss", c.copy_miss, cycles,
          "waiting for 64 B that the kernel copies and the cache does not hold");
  f.field("checksum_bytes_per_cycle", c.checksum_bytes_per_cycle, range(1, 64),
          "payload that a core sums up per cycle where the NIC does not");
  f.field("transmit_segment", c.transmit_segment, cycles,
          "TCP and IP for a segment or burst with data, SYN or FIN, to the network");
  f.field("transmit_ack", c.transmit_ack, cycles, "the same for an acknowledgement alone");
  f.field("receive_segment", c.receive_segment, cycles,
          "TCP and IP for a segment with data, SYN or FIN from the network, merged or not");
  f.field("receive_ack", c.receive_ack, cycles, "the same for an acknowledgement alone");
  f.field("skb", c.skb, cycles, "a socket buffer, allocated and freed");
  f.field("page", c.page, cycles, "a receive buffer: allocated, mapped, posted, freed");
  f.field("cross_core", c.cross_core, cycles,
          "a receive buffer whose bookkeeping has to come from the core that filled it in");
  f.field("slice", c.slice, cycles, "each further segment of a burst that the stack cuts");
  f.field("transmit", c.transmit, cycles, "queueing discipline, driver and descriptor of a frame");
  f.field("doorbell", c.doorbell, cycles, "an MMIO store to the NIC");
  f.field("sent", c.sent, cycles, "taking back a descriptor whose frame has left");
  f.field("poll", c.poll, cycles, "beginning a round of polling a queue in softirq");
  f.field("frame", c.frame, cycles, "taking a frame from the receive ring");
  f.field("merge", c.merge, cycles, "looking whether a frame continues another (GRO)");
  f.field("timer", c.timer, cycles, "a timer that runs out");
  f.field("busy_poll", c.busy_poll, range(Cycles(1), Cycles(1000000)),
          "one look at the receive ring by a program that polls it");
  f.field("pin_page", c.pin_page, cycles, "pinning and unpinning one page of a zero-copy send");
  f.field("notification", c.notification, cycles, "telling a program that its pages are its own");
}

}  // namespace

void KernelConfig::describe(Fields& f) {
  const auto periods = range(Time(), Time::ms(10));
  f.field("mtu", mtu, range(Bytes(576), Bytes(9216)), "longest IP packet");
  f.field("checksum_offload", checksum_offload, "the NIC computes and checks TCP's checksums");
  f.field("tso", tso, "the NIC cuts bursts into segments");
  f.field("gso", gso, "without tso: the stack handles bursts, and cuts them before the driver");
  f.field("gro", gro, "softirq merges segments that follow each other");
  f.field("lro", lro, "the NIC merges them");
  f.field("flow_steering", flow_steering,
          "the NIC is told to bring a connection's frames to its program's core");
  f.field("dscp", dscp, range(0, 63), "of all that TCP sends; the NIC's priority follows from it");
  f.field("queues", queues, range(1, 64), "pairs of rings, each on a core of its own");
  f.field("first_core", first_core, range(0, 1023),
          "core of the first pair; the others follow, modulo the number of cores");
  f.field("log_transmit_ring", log_transmit_ring, range(6, 15), "log2 of descriptors");
  f.field("log_receive_ring", log_receive_ring, range(6, 15), "log2 of posted buffers");
  f.field("receive_buffer", receive_buffer, range(Bytes(2048), Bytes(65536)).power_of_two(),
          "size of a posted buffer");
  f.field("receive_frames", receive_frames, range(1, 1024),
          "completions before the NIC interrupts for received frames");
  f.field("receive_period", receive_period, periods, "or time since the first of them");
  f.field("transmit_frames", transmit_frames, range(1, 1024),
          "completions before the NIC interrupts for sent frames");
  f.field("transmit_period", transmit_period, periods, "or time since the first of them");
  f.field("budget", budget, range(1, 1024), "frames of a round of polling in softirq");
  f.field("busy_poll_timeout", busy_poll_timeout, range(Time::us(1), Time::ms(100)),
          "after the last busy poll, until the NIC may interrupt again");
  describe_costs(*this, f);
  f.check(!tso || checksum_offload, "tso", "needs checksum_offload");
  f.check(!lro || checksum_offload, "lro", "needs checksum_offload");
  f.check(is_whole(receive_period), "receive_period", "must be whole microseconds");
  f.check(is_whole(transmit_period), "transmit_period", "must be whole microseconds");
}

}  // namespace rnicsim
