// SPDX-License-Identifier: MIT
// A PCIe link between a host memory and a device that the test plays: DMA requests from it, stores
// and loads to it.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "host/pcie_link.h"
#include "model/scheduler.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/probe_recorder.h"

namespace rnicsim::test {

/// A device as plain as the base protocol allows, with a choice of answers.
class FakeDevice : public sc_core::sc_module,
                   public tlm::tlm_bw_transport_if<>,
                   public tlm::tlm_fw_transport_if<>,
                   public tlm::tlm_mm_interface {
 public:
  struct Dma : tlm::tlm_generic_payload {
    std::vector<std::uint8_t> data;
    Time done;
    bool finished = false;
  };
  struct Mmio {
    Time time;
    std::uint64_t offset;
    std::vector<std::uint8_t> data;
  };
  enum class Answer { kComplete, kUpdate, kAccept };
  /// How long a phase lasts that the device accepts, to end it later.
  static constexpr Time kRequestPhase = Time::ns(100);
  static constexpr Time kResponsePhase = Time::ns(50);

  FakeDevice(const sc_core::sc_module_name& name, Scheduler& scheduler)
      : sc_module(name), dma("dma"), bar("bar"), scheduler_(scheduler) {
    dma.bind(*this);
    bar.bind(*this);
  }

  tlm::tlm_initiator_socket<64> dma;
  tlm::tlm_target_socket<64> bar;
  Answer response_answer = Answer::kComplete;
  Answer request_answer = Answer::kComplete;
  std::vector<Mmio> mmio;
  std::vector<const Dma*> finished;

  /// Makes a request that `start` puts on the link.
  Dma& request(bool write, std::uint64_t address, std::vector<std::uint8_t> data,
               DmaEngineId engine, DmaPurpose purpose = DmaPurpose::kPayload, bool elided = false) {
    Dma& dma = requests_.emplace_back();
    dma.data = std::move(data);
    dma.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    dma.set_address(address);
    dma.set_data_ptr(dma.data.data());
    dma.set_data_length(static_cast<unsigned>(dma.data.size()));
    dma.set_streaming_width(dma.get_data_length());
    dma.set_mm(this);
    dma.acquire();
    auto* extension = new DmaExtension;
    extension->engine = engine;
    extension->purpose = purpose;
    extension->elided = elided;
    dma.set_extension(extension);
    return dma;
  }
  Dma& write(std::uint64_t address, std::vector<std::uint8_t> data) {
    return request(true, address, std::move(data), DmaEngineId::kPosted);
  }
  Dma& read(std::uint64_t address, std::size_t bytes,
            DmaEngineId engine = DmaEngineId::kPayloadRead) {
    return request(false, address, std::vector<std::uint8_t>(bytes, 0xee), engine);
  }
  void start_at(Time time, Dma& dma) {
    started_.push_back(&dma);
    scheduler_.at(time, call<&FakeDevice::start>(this, started_.size() - 1));
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    CHECK(phase == tlm::BEGIN_RESP);
    auto& dma = static_cast<Dma&>(payload);
    CHECK_FALSE(dma.finished);
    CHECK(responding_ == nullptr);
    dma.finished = true;
    dma.done = scheduler_.enter_foreign(delay);
    finished.push_back(&dma);
    switch (response_answer) {
      case Answer::kComplete:
        return tlm::TLM_COMPLETED;
      case Answer::kUpdate:
        phase = tlm::END_RESP;
        return tlm::TLM_UPDATED;
      case Answer::kAccept:
        break;
    }
    responding_ = &dma;
    scheduler_.at(dma.done + kResponsePhase, call<&FakeDevice::end_response>(this));
    return tlm::TLM_ACCEPTED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload*) override {}

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    CHECK(in_request_ == nullptr);
    const std::uint8_t* data = payload.get_data_ptr();
    mmio.push_back({scheduler_.enter_foreign(delay),
                    payload.get_address(),
                    {data, data + payload.get_data_length()}});
    if (payload.is_read()) std::fill_n(payload.get_data_ptr(), payload.get_data_length(), 0x5a);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    if (request_answer == Answer::kComplete) return tlm::TLM_COMPLETED;
    if (request_answer == Answer::kUpdate) {
      phase = tlm::BEGIN_RESP;
      return tlm::TLM_UPDATED;
    }
    in_request_ = &payload;
    scheduler_.at(scheduler_.now() + kRequestPhase, call<&FakeDevice::end_request>(this));
    return tlm::TLM_ACCEPTED;
  }
  void b_transport(tlm::tlm_generic_payload&, sc_core::sc_time&) override {
    FAIL("the link must not call b_transport");
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
  unsigned transport_dbg(tlm::tlm_generic_payload&) override { return 0; }

 private:
  void start(std::uint64_t i) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = scheduler_.annotation();
    const auto answer = dma->nb_transport_fw(*started_[i], phase, delay);
    if (answer == tlm::TLM_COMPLETED) {
      started_[i]->finished = true;
      finished.push_back(started_[i]);
      return;
    }
    CHECK(answer == tlm::TLM_UPDATED);
    CHECK(phase == tlm::END_REQ);
  }
  void end_response() {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay = scheduler_.annotation();
    tlm::tlm_generic_payload& payload = *responding_;
    responding_ = nullptr;
    dma->nb_transport_fw(payload, phase, delay);
  }
  void end_request() {
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay = scheduler_.annotation();
    tlm::tlm_generic_payload& payload = *in_request_;
    in_request_ = nullptr;
    bar->nb_transport_bw(payload, phase, delay);
  }

  Scheduler& scheduler_;
  std::deque<Dma> requests_;
  std::vector<Dma*> started_;
  tlm::tlm_generic_payload* responding_ = nullptr;
  tlm::tlm_generic_payload* in_request_ = nullptr;
};

/// A link between a memory and a fake device.
struct LinkBench {
  explicit LinkBench(const PcieConfig& config = {}, const MemoryConfig& memory_config = {},
                     DmaGuard* guard = nullptr)
      : memory(memory_config),
        link("link", scheduler, config, memory, guard),
        device("device", scheduler) {
    device.dma.bind(link.dma_socket);
    link.mmio().socket.bind(device.bar);
    link.probe().attach(&landings, 1);
  }
  void run() {
    scheduler.run_until(Time::ms(1));
    CHECK(link.idle());
  }
  std::map<std::string, std::uint64_t> metrics() const {
    MetricRecorder collected;
    link.report(MetricScope(collected, "pcie"));
    memory.report(MetricScope(collected, "memory"));
    return collected.values;
  }

  Scheduler scheduler{"scheduler"};
  Memory memory;
  PcieLink link;
  FakeDevice device;
  ProbeRecorder landings;
};

inline std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> data(bytes);
  for (auto& byte : data) byte = static_cast<std::uint8_t>(random());
  return data;
}

/// Time of bytes on the default link, one way.
inline const ByteTime kLinkByte(pcie_tlp_rate(3, 8, Bytes(256)));

}  // namespace rnicsim::test
