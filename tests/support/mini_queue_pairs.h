// SPDX-License-Identifier: MIT
// The queue pairs and shared receive queues of a mini driver (see mini_driver.h): made and brought
// up, and the work that is posted to them. Of a posted work request the NIC learns by its doorbell,
// of a receive by the doorbell record.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/nic_abi.h"
#include "model/units.h"
#include "tests/support/mini_regions.h"

namespace rnicsim::test {

struct QpOptions {
  Qpn remote{1};
  Cqn cqn{1};
  std::uint8_t mtu_code = 5;
  Psn send_psn{100};
  Psn expected_psn{100};
  std::uint8_t access = kAllRights;
  std::uint8_t log_blocks = 6;
  PdNumber pd{1};
  QpState last_state = QpState::kRts;
  Transport transport = Transport::kRc;
  std::uint8_t ack_timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t max_rd_atomic = 0;
  std::uint8_t max_dest_rd_atomic = 0;
  std::uint32_t qkey = 0;
  bool has_receives = false;  ///< a receive queue of its own
  std::uint8_t log_receive_entries = 3;
  std::uint8_t log_receive_segments = 1;
  bool inline_receive = false;
  std::uint32_t srqn = 0;
  std::uint8_t dscp = 0;
};

class MiniQueuePairs {
 public:
  explicit MiniQueuePairs(MiniCommands& commands) : commands_(commands) {}

  void add_qp(Qpn qpn, const QpOptions& options = {});
  /// `notify_drained`: to SQD, an event tells when the send queue has drained.
  abi::CommandStatus modify_qp(Qpn qpn, QpState state, bool notify_drained = false);
  abi::QpContext query_qp(Qpn qpn);
  /// Through RESET to `last` with what it was made with, its rings empty.
  void restart_qp(Qpn qpn, QpState last);
  /// Forgets what software knows of a queue pair (its ring starts anew).
  void reset_qp(Qpn qpn) { qps_.erase(qpn.value()); }
  std::uint64_t send_ring(Qpn qpn) const { return qps_.at(qpn.value()).context.send_ring.value(); }

  struct Segment {
    std::uint64_t address;
    std::uint32_t bytes;
    MemoryKey key;
  };
  struct Write {
    std::uint64_t remote = 0;
    MemoryKey rkey;
    std::vector<Segment> gather;
    std::vector<std::uint8_t> inlined;
    bool signaled = true;
    abi::WqeOpcode opcode = abi::WqeOpcode::kRdmaWrite;
    bool fence = false;
    bool solicited = false;
    std::uint32_t immediate = 0;
    abi::AtomicSegment atomic;
    const abi::DatagramSegment* datagram = nullptr;  ///< of a datagram: where it goes
  };
  /// Writes a WQE into the ring and counts it in the doorbell record; rings nothing.
  void post(Qpn qpn, const Write& write);
  void ring(Qpn qpn);
  /// BlueFlame: the last posted WQE goes to the doorbell register whole.
  void ring_with_wqe(Qpn qpn);
  /// One line of it.
  void ring_with_line(Qpn qpn, std::uint32_t line);

  void post_receive(Qpn qpn, const std::vector<Segment>& scatter);
  void add_srq(std::uint32_t srqn, std::uint8_t log_entries = 3, std::uint8_t log_segments = 1);
  void post_shared_receive(std::uint32_t srqn, const std::vector<Segment>& scatter);

 private:
  struct ReceiveRing {
    std::uint64_t ring = 0;
    std::uint64_t record = 0;
    std::uint8_t log_entries = 0;
    std::uint8_t log_segments = 0;
    std::uint32_t posted = 0;
  };
  struct Qp {
    abi::QpContext context;
    std::uint16_t producer = 0;
    abi::ControlSegment last;
    ReceiveRing receives;
  };

  void bring_up(Qpn qpn, QpState last);
  ReceiveRing make_ring(std::uint8_t log_entries, std::uint8_t log_segments);
  void put(Qp& qp, std::vector<std::uint8_t>& wqe);
  void put_receive(ReceiveRing& ring, const std::vector<Segment>& scatter);

  MiniCommands& commands_;
  std::map<std::uint32_t, Qp> qps_;
  std::map<std::uint32_t, ReceiveRing> srqs_;
};

}  // namespace rnicsim::test
