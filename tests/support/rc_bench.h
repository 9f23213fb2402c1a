// SPDX-License-Identifier: MIT
// A NIC with queue pair 1 between its driver and a wire, the test being the far side, with what is
// seen on the wire and in the completion queue as sentences to compare with.
#pragma once

#include <string>

#include "tests/support/nic_bench.h"

namespace rnicsim::test {

inline constexpr std::uint64_t kFar = 0xabcd0000;  ///< memory of the far side
inline constexpr MemoryKey kFarKey(7, 7);
inline constexpr std::uint8_t kEveryRight = kAllRights | AccessFlags::kRemoteAtomic;
inline const Clock kNicClock{Frequency::mhz(400)};

/// A reliable connection with all it can have, path MTU 1024, both PSNs 100, no timeout.
inline QpOptions reliable() {
  QpOptions options;
  options.mtu_code = 3;
  options.access = kEveryRight;
  options.retry_count = 7;
  options.rnr_retry = 7;
  options.min_rnr_timer = 12;
  options.max_rd_atomic = 16;
  options.max_dest_rd_atomic = 16;
  options.has_receives = true;
  return options;
}

inline constexpr Time kTimeout = Time::ns(8192);  ///< of code 1
inline QpOptions with_timeout(std::uint8_t code, std::uint8_t retries = 7) {
  QpOptions options = reliable();
  options.ack_timeout = code;
  options.retry_count = retries;
  return options;
}

inline RegionOptions every_right() {
  RegionOptions options;
  options.access = kEveryRight;
  return options;
}

struct RcBench : OneQueuePair {
  explicit RcBench(const BenchOptions& bench_options = {}, const QpOptions& qp = reliable(),
                   const RegionOptions& region_options = every_right())
      : OneQueuePair(bench_options, qp, region_options) {}

  // Work of the driver
  MiniDriver::Write work(abi::WqeOpcode opcode, std::uint64_t offset, std::uint32_t bytes) {
    MiniDriver::Write w;
    w.opcode = opcode;
    w.remote = kFar + offset;
    w.rkey = kFarKey;
    if (bytes != 0) w.gather = {{region.start + offset, bytes, region.key}};
    return w;
  }
  void post(const MiniDriver::Write& w) { driver().post(Qpn(1), w); }
  void post(abi::WqeOpcode opcode, std::uint64_t offset, std::uint32_t bytes) {
    post(work(opcode, offset, bytes));
  }
  void write(std::uint64_t offset, std::uint32_t bytes) {
    post(abi::WqeOpcode::kRdmaWrite, offset, bytes);
  }
  void read(std::uint64_t offset, std::uint32_t bytes) {
    post(abi::WqeOpcode::kRdmaRead, offset, bytes);
  }
  void fetch_add(std::uint64_t offset, std::uint64_t addend) {
    MiniDriver::Write w = work(abi::WqeOpcode::kAtomicFetchAdd, offset, 8);
    w.atomic.swap_or_add = addend;
    post(w);
  }
  void ring() {
    driver().ring(Qpn(1));
    run();
  }
  MiniDriver::Segment segment(std::uint64_t offset, std::uint32_t bytes) {
    return {region.start + offset, bytes, region.key};
  }
  void post_receive(std::uint64_t offset, std::uint32_t bytes) {
    driver().post_receive(Qpn(1), {segment(offset, bytes)});
  }

  // Packets of the far side
  PacketRef read_request(std::uint32_t psn, std::uint64_t offset, std::uint32_t bytes) {
    PacketRef packet = write_request(Opcode::kReadRequest, Psn(psn), 0, region, offset, bytes);
    packet->bth.ack_req = true;
    return packet;
  }
  PacketRef write_only(std::uint32_t psn, std::uint64_t offset, std::uint32_t bytes) {
    return write_request(Opcode::kWriteOnly, Psn(psn), bytes, region, offset, bytes);
  }
  PacketRef atomic(Opcode opcode, std::uint32_t psn, std::uint64_t offset,
                   std::uint64_t swap_or_add, std::uint64_t compare = 0) {
    PacketRef packet = write_request(opcode, Psn(psn), 0, region, offset, 0);
    packet->atomic = {swap_or_add, compare};
    packet->bth.ack_req = true;
    return packet;
  }
  PacketRef answer(Opcode opcode, std::uint32_t psn, std::uint32_t bytes) {
    PacketRef packet = request(opcode, Psn(psn), bytes);
    packet->bth.ack_req = false;
    packet->aeth = Aeth::ack(1);
    return packet;
  }
  PacketRef original(std::uint32_t psn, std::uint64_t value) {
    PacketRef packet = answer(Opcode::kAtomicAcknowledge, psn, 0);
    packet->atomic_ack.original = value;
    return packet;
  }
  PacketRef ack(std::uint32_t psn) { return response(Psn(psn), Aeth::ack(1)); }
  PacketRef nak(std::uint32_t psn, NakCode code) { return response(Psn(psn), Aeth::nak(0, code)); }
  PacketRef rnr_nak(std::uint32_t psn, std::uint8_t timer) {
    return response(Psn(psn), Aeth::rnr_nak(0, timer));
  }
  /// Lets packets arrive 200 ns apart, the first in 10 ns, and runs. Returns when the last arrived.
  Time give(std::vector<PacketRef> packets) {
    Time time = scheduler.now() + Time::ns(10);
    for (PacketRef& packet : packets) {
      arrive_at(time, std::move(packet));
      time += Time::ns(200);
    }
    run();
    return time - Time::ns(200);
  }

  /// "name psn" of every packet on the wire since the last call; acknowledgements with syndrome and
  /// MSN.
  std::string said() {
    std::string text;
    for (; heard < wire.packets.size(); ++heard) {
      const Packet& packet = *wire.packets[heard];
      text += name_of(packet.bth.opcode);
      text += " " + std::to_string(packet.bth.psn.value());
      if (has_aeth(packet.bth.opcode) && !is_read_response(packet.bth.opcode)) {
        char aeth[24];
        std::snprintf(aeth, sizeof aeth, " %02x/%u", packet.aeth.syndrome, packet.aeth.msn);
        text += aeth;
      }
      text += "; ";
    }
    return text;
  }
  /// "wqe_index:status" of the entries that software finds; of receives with an R in front.
  std::string completions() {
    std::string text;
    for (const abi::Cqe& cqe : driver().poll(Cqn(1))) {
      const bool request =
          cqe.opcode == abi::CqeOpcode::kRequest || cqe.opcode == abi::CqeOpcode::kRequestError;
      text += (request ? "" : "R") + std::to_string(cqe.wqe_counter) + ":" +
              std::to_string(static_cast<int>(cqe.status)) + " ";
    }
    return text;
  }
  QpState state() { return driver().query_qp(Qpn(1)).state; }

  /// Whether memory holds what the far side's packet `psn` of so many bytes carries.
  bool holds(std::uint64_t offset, std::uint32_t psn, std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < bytes; ++i)
      if (byte(offset + i) != static_cast<std::uint8_t>(psn * 7 + i)) return false;
    return true;
  }
  /// DMA to or from payload memory.
  std::vector<FakeDmaMemory::Access> payload(bool write) const {
    std::vector<FakeDmaMemory::Access> found;
    for (const auto& access : host.memory.of(DmaPurpose::kPayload))
      if (access.write == write) found.push_back(access);
    return found;
  }
  std::vector<FakeDmaMemory::Access> reads_of(DmaPurpose purpose) const {
    return host.memory.of(purpose);
  }

  std::size_t heard = 0;
};

}  // namespace rnicsim::test
