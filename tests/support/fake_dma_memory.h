// SPDX-License-Identifier: MIT
// A flat memory behind a NIC's DMA socket: one constant latency for reads, one for writes, any
// number of requests at once. Answers as host/pcie_link does: END_REQ in the return value,
// BEGIN_RESP on the backward path. It keeps a log of what was asked and when it was answered.
//
// A read samples its bytes, and a write stores them, when the response begins.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "model/pcie_tlp.h"
#include "model/scheduler.h"

namespace rnicsim::test {

class FakeDmaMemory : public sc_core::sc_module, public tlm::tlm_fw_transport_if<> {
 public:
  struct Access {
    bool write;
    DmaEngineId engine;
    DmaPurpose purpose;
    std::uint64_t address;
    std::uint32_t bytes;
    Time begin;
    Time end;
    bool relaxed_ordering;
    bool elided;
  };

  FakeDmaMemory(const sc_core::sc_module_name& name, Scheduler& scheduler, Time read_latency,
                Time write_latency, std::size_t size = 8 << 20)
      : sc_module(name),
        bytes(size),
        scheduler_(scheduler),
        read_latency_(read_latency),
        write_latency_(write_latency) {
    socket.bind(*this);
  }

  tlm::tlm_target_socket<64> socket{"socket"};
  std::vector<std::uint8_t> bytes;
  std::vector<Access> log;
  /// Holds END_REQ back until the response, as a target does that answers with BEGIN_RESP only: the
  /// initiator then has one request at a time.
  bool one_at_a_time = false;

  std::uint8_t* at(std::uint64_t address) { return bytes.data() + address; }
  std::vector<Access> of(DmaPurpose purpose) const {
    std::vector<Access> found;
    for (const Access& access : log)
      if (access.purpose == purpose) found.push_back(access);
    return found;
  }

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_COMPLETED;
    const Time begin = scheduler_.enter_foreign(delay);
    const Time end = begin + (payload.is_write() ? write_latency_ : read_latency_);
    const auto* extension = payload.get_extension<DmaExtension>();
    log.push_back({payload.is_write(), extension->engine, extension->purpose, payload.get_address(),
                   payload.get_data_length(), begin, end, extension->relaxed_ordering,
                   extension->elided});
    payload.acquire();
    pending_.push_back(&payload);
    scheduler_.at(end, call<&FakeDmaMemory::respond>(this, pending_.size() - 1));
    if (one_at_a_time) return tlm::TLM_ACCEPTED;
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& /*delay*/) override {
    payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

 private:
  void respond(std::uint64_t index) {
    tlm::tlm_generic_payload& payload = *pending_[index];
    const std::uint64_t address = payload.get_address();
    const std::size_t length = payload.get_data_length();
    const bool inside = address + length <= bytes.size();
    const bool elided = payload.get_extension<DmaExtension>()->elided;
    if (inside && !elided && payload.is_write())
      std::memcpy(at(address), payload.get_data_ptr(), length);
    else if (inside && !elided)
      std::memcpy(payload.get_data_ptr(), at(address), length);
    payload.set_response_status(inside ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = scheduler_.annotation();
    socket->nb_transport_bw(payload, phase, delay);
    payload.release();
    scheduler_.ask_kernel();
  }

  Scheduler& scheduler_;
  Time read_latency_;
  Time write_latency_;
  std::vector<tlm::tlm_generic_payload*> pending_;
};

}  // namespace rnicsim::test
