// SPDX-License-Identifier: MIT
// The settings of one NIC: those of its blocks under the blocks' names.
#pragma once

#include <vector>

#include "model/units.h"
#include "nic/atomic_unit.h"
#include "nic/command_unit.h"
#include "nic/completer.h"
#include "nic/congestion/congestion_config.h"
#include "nic/cqe_writer.h"
#include "nic/doorbell.h"
#include "nic/ethernet/ethernet_config.h"
#include "nic/event_queue.h"
#include "nic/host_table_cache.h"
#include "nic/key_checker.h"
#include "nic/key_operations.h"
#include "nic/mac_rx.h"
#include "nic/mac_tx.h"
#include "nic/page_faults.h"
#include "nic/pause_storm.h"
#include "nic/pcie_endpoint.h"
#include "nic/port_config.h"
#include "nic/read_responder.h"
#include "nic/receive_queue.h"
#include "nic/reorder_buffer.h"
#include "nic/requester.h"
#include "nic/responder.h"
#include "nic/retransmitter.h"
#include "nic/translation_cache.h"
#include "nic/wqe_fetch.h"

namespace rnicsim {

enum class StalledBlock : std::uint8_t { kRequester, kResponder, kCompleter, kPcie };

/// An injected fault: a block takes nothing for a time. What is inside goes on.
struct NicStall {
  StalledBlock block = StalledBlock::kResponder;
  Time from;
  Time duration{Time::us(10)};
  void describe(Fields& fields);
};

struct NicConfig {
  Frequency clock = Frequency::mhz(400);
  PcieEndpointConfig pcie;
  DoorbellConfig doorbell;
  CommandUnitConfig command_unit;
  WqeFetchConfig wqe_fetch;
  HostTableCacheConfig qp_context_cache;
  HostTableCacheConfig cq_context_cache;
  HostTableCacheConfig srq_context_cache;
  HostTableCacheConfig key_cache{{}, 8, Cycles(4), Cycles(1)};
  TranslationCacheConfig translation_cache;
  KeyCheckerConfig key_checker;
  KeyOperationsConfig key_operations;
  RequesterConfig requester;
  ResponderConfig responder;
  ReadResponderConfig read_responder;
  RetransmitterConfig retransmitter;
  ReorderBufferConfig reorder_buffer;
  ReceiveQueuesConfig receive_queue;
  AtomicUnitConfig atomic_unit;
  CompleterConfig completer;
  CqeWriterConfig cqe_writer;
  EventQueueConfig event_queue;
  PageFaultsConfig page_faults;
  CongestionControlSetting congestion_control;
  PortConfig port;
  MacTxConfig mac_tx;
  MacRxConfig mac_rx;
  EthernetConfig ethernet;
  std::vector<NicStall> stall;
  std::vector<PauseStormConfig> pause_storm;
  void describe(Fields& fields);
};

}  // namespace rnicsim
