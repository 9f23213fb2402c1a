// SPDX-License-Identifier: MIT
// One or two NICs on a bench: each between a fake memory of constant latency, a mini driver and a
// wire that ends in a recorder, or in the other NIC through links of fabric/.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabric/link.h"
#include "model/icrc.h"
#include "model/scheduler.h"
#include "nic/nic.h"
#include "tests/support/fake_dma_memory.h"
#include "tests/support/metric_recorder.h"
#include "tests/support/mini_driver.h"
#include "tests/support/probe_recorder.h"

namespace rnicsim::test {

inline constexpr Time kReadLatency = Time::ns(300);
inline constexpr Time kWriteLatency = Time::ns(200);

/// Keeps every packet with its times.
struct PacketRecorder : PacketSink {
  std::vector<PacketRef> packets;
  void receive(PacketRef packet) override { packets.push_back(std::move(packet)); }
};

struct BenchOptions {
  NicConfig nic;
  BitRate rate = BitRate::gbps(100);
  bool elided = false;
  bool attach_probes = true;
  std::optional<BitRate> pcie_rate{};
};

/// A NIC with its own memory and driver.
class BenchNic : public sc_core::sc_module {
 public:
  BenchNic(const sc_core::sc_module_name& name, Scheduler& scheduler, PacketPool& pool,
           std::uint8_t index, const BenchOptions& options)
      : sc_module(name),
        memory("memory", scheduler, kReadLatency, kWriteLatency),
        nic("nic", wiring(scheduler, pool, index, options), options.nic),
        cpu("cpu"),
        driver(
            memory.bytes.data(), memory.bytes.size(),
            [this](std::uint64_t offset, const std::uint8_t* data, unsigned bytes) {
              mmio(offset, data, bytes);
            },
            [this] { run(); }),
        scheduler_(scheduler) {
    nic.dma.bind(memory.socket);
    cpu.bind(nic.bar);
    if (options.attach_probes) nic.attach(&probes, index);
  }

  static PortIdentity identity(std::uint8_t index) {
    const auto number = static_cast<std::uint8_t>(index + 1);
    return {number, {2, 0, 0, 0, 0, number}, Ipv4Address(0x0a000000U + number)};
  }

  static NicWiring wiring(Scheduler& scheduler, PacketPool& pool, std::uint8_t index,
                          const BenchOptions& options) {
    NicWiring wiring{scheduler,    pool,       identity(index), index,
                     options.rate, Bytes(512), options.elided,  1};
    wiring.pcie_rate = options.pcie_rate;
    return wiring;
  }

  /// Lets everything happen that will.
  void run() { scheduler_.run_until(scheduler_.now() + Time::s(1)); }
  void mmio(std::uint64_t offset, const std::uint8_t* data, unsigned bytes) {
    std::uint8_t copy[abi::kWqeBlockBytes] = {};
    std::copy_n(data, bytes, copy);
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(offset);
    payload.set_data_ptr(copy);
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    sc_core::sc_time delay = scheduler_.annotation();
    cpu->b_transport(payload, delay);
    if (payload.is_response_error()) throw std::logic_error("the BAR refused a write");
  }
  /// A counter by its path below the NIC.
  std::uint64_t metric(const std::string& path) const {
    MetricRecorder recorder;
    nic.report(MetricScope(recorder, "nic"));
    return recorder.values.at("nic." + path);
  }

  FakeDmaMemory memory;
  Nic nic;
  tlm_utils::simple_initiator_socket<BenchNic, 64> cpu;
  MiniDriver driver;
  ProbeRecorder probes;

 private:
  Scheduler& scheduler_;
};

/// One NIC whose wire ends in a recorder; the test plays the far side.
struct OneNic {
  explicit OneNic(const BenchOptions& options = {}) : options(options) {
    host.nic.connect(wire);
    host.driver.init();
    host.driver.add_cq(Cqn(1));
  }

  /// A request of a far requester to queue pair 1, arriving whole now.
  PacketRef request(Opcode opcode, Psn psn, std::uint32_t payload_bytes) {
    PacketRef packet = pool.create();
    packet->bth.opcode = opcode;
    packet->bth.dest_qp = Qpn(1);
    packet->bth.psn = psn;
    packet->bth.ack_req = ends_message(opcode);
    packet->set_payload_length(Bytes(payload_bytes));
    for (std::uint32_t i = 0; i < payload_bytes; ++i)
      packet->payload()[i] = static_cast<std::uint8_t>(psn.value() * 7 + i);
    return packet;
  }
  PacketRef write_request(Opcode opcode, Psn psn, std::uint32_t payload_bytes, const Region& region,
                          std::uint64_t offset, std::uint32_t total) {
    PacketRef packet = request(opcode, psn, payload_bytes);
    packet->reth.virtual_address = VirtualAddress(region.start + offset);
    packet->reth.r_key = region.key;
    packet->reth.dma_length = total;
    return packet;
  }
  PacketRef response(Psn psn, Aeth aeth) {
    PacketRef packet = request(Opcode::kAcknowledge, psn, 0);
    packet->aeth = aeth;
    return packet;
  }
  void arrive_at(Time time, PacketRef packet) {
    seal_icrc(*packet);
    arriving.push_back(std::move(packet));
    scheduler.at_arrival(time, 1, call<&OneNic::arrive>(this, arriving.size() - 1));
  }
  void arrive(std::uint64_t index) { host.nic.port().receive(std::move(arriving[index])); }
  void run() { host.run(); }
  MiniDriver& driver() { return host.driver; }

  BenchOptions options;
  PacketPool pool;
  Scheduler scheduler{"scheduler"};
  BenchNic host{"host", scheduler, pool, 0, options};
  PacketRecorder wire;
  std::vector<PacketRef> arriving;
};

/// Two NICs back to back.
struct TwoNics {
  explicit TwoNics(const BenchOptions& options = {}, bool run_ahead = true)
      : options(options), scheduler("scheduler", run_ahead) {
    a.nic.connect(a_to_b);
    b.nic.connect(b_to_a);
    a_to_b.connect(b.nic.port());
    b_to_a.connect(a.nic.port());
    for (BenchNic* host : {&a, &b}) {
      host->driver.init();
      host->driver.add_cq(Cqn(1));
    }
  }
  /// Queue pair `qpn` on both sides, connected.
  void connect(Qpn qpn, QpOptions options = {}) {
    options.remote = qpn;
    a.driver.add_qp(qpn, options);
    b.driver.add_qp(qpn, options);
  }
  void run() { a.run(); }
  LinkConfig link_config() const {
    LinkConfig config;
    config.rate = options.rate;
    return config;
  }

  BenchOptions options;
  PacketPool pool;
  Scheduler scheduler;
  BenchNic a{"a", scheduler, pool, 0, options};
  BenchNic b{"b", scheduler, pool, 1, options};
  LinkDirection a_to_b{scheduler, link_config(), 1};
  LinkDirection b_to_a{scheduler, link_config(), 2};
};

/// Payload that names its place.
inline void fill(MiniDriver& driver, const Region& region, std::uint8_t seed) {
  for (std::uint64_t i = 0; i < region.length; ++i)
    *driver.at(region.physical(region.start + i)) =
        static_cast<std::uint8_t>(seed + i * 13 + i / 251);
}

/// One NIC with queue pair 1 connected to nobody, and a region of patterned bytes.
struct OneQueuePair : OneNic {
  OneQueuePair(const BenchOptions& options, const QpOptions& qp,
               const RegionOptions& region_options)
      : OneNic(options) {
    driver().add_qp(Qpn(1), qp);
    region = driver().add_region(3, region_options);
    fill(driver(), region, 1);
    host.memory.log.clear();
  }
  std::uint8_t& byte(std::uint64_t offset) {
    return *driver().at(region.physical(region.start + offset));
  }
  /// The bytes of the region from `offset`.
  std::vector<std::uint8_t> bytes_of(std::uint64_t offset, std::uint32_t count) {
    std::vector<std::uint8_t> bytes;
    for (std::uint32_t i = 0; i < count; ++i) bytes.push_back(byte(offset + i));
    return bytes;
  }
  /// All payloads on the wire from packet `first` on, in order.
  std::vector<std::uint8_t> sent(std::size_t first = 0) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = first; i < wire.packets.size(); ++i) {
      const Packet& p = *wire.packets[i];
      bytes.insert(bytes.end(), p.payload(), p.payload() + p.payload_length.count());
    }
    return bytes;
  }
  /// When the first bit of the preamble of packet i left.
  Time start(std::size_t i) { return wire.packets[i]->head - Time::ps(80) * 8; }

  Region region;
};

}  // namespace rnicsim::test
