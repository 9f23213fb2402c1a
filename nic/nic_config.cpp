// SPDX-License-Identifier: MIT
#include "nic/nic_config.h"

namespace rnicsim {

void NicStall::describe(Fields& fields) {
  fields.required().choice("block", block,
                           {{"requester", StalledBlock::kRequester},
                            {"responder", StalledBlock::kResponder},
                            {"completer", StalledBlock::kCompleter},
                            {"pcie", StalledBlock::kPcie}},
                           "which takes nothing; what is inside goes on");
  fields.required().field("from", from, "when it begins");
  fields.required().field("for", duration, range(Time::ps(1), Time::s(1)), "how long it lasts");
}

void NicConfig::describe(Fields& fields) {
  fields.field("clock", clock, range(Frequency::mhz(1), Frequency::mhz(10000)),
               "clock that all latencies in cycles count");
  fields.object("pcie", pcie, "bus master: tags and read buffer");
  fields.object("doorbell", doorbell, "doorbell registers");
  fields.object("command_unit", command_unit, "executes the driver's commands");
  fields.object("wqe_fetch", wqe_fetch, "fetch of send queue entries");
  fields.object("qp_context_cache", qp_context_cache, "cache of queue pair contexts");
  fields.object("cq_context_cache", cq_context_cache, "cache of completion queue contexts");
  fields.object("srq_context_cache", srq_context_cache, "cache of shared receive queue contexts");
  fields.object("key_cache", key_cache, "cache of memory key entries");
  fields.object("translation_cache", translation_cache, "the TLB");
  fields.object("key_checker", key_checker, "state machine that checks keys");
  fields.object("key_operations", key_operations, "binds windows and invalidates their keys");
  fields.object("requester", requester, "turns work requests into packets");
  fields.object("responder", responder, "takes request packets");
  fields.object("read_responder", read_responder, "sends the data of READs");
  fields.object("retransmitter", retransmitter, "what is sent again, and from where on");
  fields.object("reorder_buffer", reorder_buffer, "what has overtaken a lost packet");
  fields.object("receive_queue", receive_queue, "fetch of receive queue entries");
  fields.object("atomic_unit", atomic_unit, "executes atomics on host memory");
  fields.object("completer", completer, "takes acknowledgements");
  fields.object("cqe_writer", cqe_writer, "writes completion entries");
  fields.object("event_queue", event_queue, "event queues and their interrupt messages");
  fields.object("page_faults", page_faults, "accesses to pages that are not there yet");
  fields.object("congestion_control", congestion_control, "how fast queue pairs may send");
  fields.object("port", port, "priorities of the Ethernet port, and how it pauses and is paused");
  fields.object("mac_tx", mac_tx, "transmit side of the port");
  fields.object("mac_rx", mac_rx, "receive side of the port");
  fields.object("ethernet", ethernet, "plain Ethernet (TCP) beside RDMA");
  fields.list("stall", stall, ListLimits{0, 64}, "injected faults: blocks that stand still");
  fields.list("pause_storm", pause_storm, ListLimits{0, 8},
              "injected faults: priorities that the NIC pauses without end");
}

}  // namespace rnicsim
