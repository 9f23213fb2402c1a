// SPDX-License-Identifier: MIT
// Executes the driver's commands (model/nic_abi): reads the command entry and, where there is one,
// its mailbox from host RAM by DMA, works for `latency` (firmware), writes the result back, the
// owner byte last. One command at a time; a doorbell that comes meanwhile is kept. Before it
// reports a key as gone it waits until nothing that was allowed by it is on its way to host memory;
// likewise a plain Ethernet queue, and all of them when it opens or closes the NIC.
#pragma once

#include <array>

#include "model/clock.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/nic_abi.h"
#include "model/scheduler.h"
#include "nic/completer.h"
#include "nic/completion_events.h"
#include "nic/cqe_writer.h"
#include "nic/event_queue.h"
#include "nic/key_checker.h"
#include "nic/key_operations.h"
#include "nic/page_faults.h"
#include "nic/pcie_endpoint.h"
#include "nic/queue_pair.h"
#include "nic/receive_queue.h"
#include "nic/translation_cache.h"

namespace rnicsim {

struct CommandUnitConfig {
  Time latency = Time::us(1);
  void describe(Fields& fields);
};

class EthernetUnit;
class ReadResponder;
class Requester;
class Responder;

class CommandUnit {
 public:
  struct Wiring {
    Scheduler& scheduler;
    PcieEndpoint& pcie;
    QpContextCache& contexts;
    CqContextCache& cq_contexts;
    KeyCache& keys;
    TranslationCache& translations;
    KeyOperations& key_operations;
    QueuePairTable& qps;
    Completer& completer;
    WqeFetch& wqe_fetch;
    ReceiveQueues& receive_queues;
    Requester& requester;
    Responder& responder;
    ReadResponder& read_responder;
    CqeWriter& cqe_writer;
    CompletionEvents& completion_events;
    EventQueue& event_queue;
    PageFaults& page_faults;
    EthernetUnit& ethernet;
  };
  CommandUnit(const Wiring& wiring, const CommandUnitConfig& config)
      : w_(wiring), config_(config) {}

  /// The command doorbell was rung; the entry is at `entry`.
  void ring(PhysicalAddress entry);
  bool idle() const { return !active_; }
  void report(const MetricScope& scope) const;

 private:
  void entry_read();
  void mailbox_read();
  void execute();
  bool has_context();
  abi::CommandStatus run();
  abi::CommandStatus init_hca();
  abi::CommandStatus change_key();
  abi::CommandStatus change_cq();
  abi::CommandStatus change_eq();
  abi::CommandStatus change_ethernet();
  abi::CommandStatus modify_qp(abi::QpContext* present);
  abi::CommandStatus query_qp(const abi::QpContext& present);
  void quiesce();
  void finish_ok();
  void finish(abi::CommandStatus status);
  void end_command();
  void dma(bool write, PhysicalAddress address, std::uint8_t* data, std::uint32_t bytes,
           Callback done);

  Wiring w_;
  CommandUnitConfig config_;
  PhysicalAddress entry_address_;
  PhysicalAddress rung_address_;  ///< of the doorbell that came while a command was under way
  std::array<std::uint8_t, abi::CommandEntry::kBytes> entry_bytes_{};
  std::array<std::uint8_t, abi::QpContext::kBytes> mailbox_{};
  abi::CommandEntry entry_;
  bool active_ = false;
  bool initialised_ = false;
  bool rung_again_ = false;
  std::uint64_t judged_ = 0;  ///< by the responder when the key was disabled
  std::uint64_t made_ = 0;    ///< by the requester
  std::uint64_t scattered_ = 0;
  std::uint64_t responses_ = 0;
  Time quiesce_since_;
  Time quiescing_;
  std::uint64_t commands_ = 0;
  std::uint64_t failed_ = 0;
  std::uint32_t most_ = 0;
  Time busy_;
  Time busy_since_;
};

}  // namespace rnicsim
