// SPDX-License-Identifier: MIT
// Regions paged on demand, from event queue, memory and wire: what a NIC does when a page is absent
// on either side, and what it does when the page has come.
#include <catch2/catch.hpp>

#include "model/byte_order.h"
#include "tests/support/rc_bench.h"

using namespace rnicsim;
using namespace rnicsim::literals;
using abi::WqeOpcode;

namespace {

constexpr std::uint32_t kRegion = 3;
constexpr std::uint64_t kPage = 4096;

test::RegionOptions on_demand() {
  test::RegionOptions options = test::every_right();
  options.access |= AccessFlags::kOnDemand;
  return options;
}

/// Region 3 has 8 pages, none of them here; the test is the driver.
struct Bench : test::RcBench {
  explicit Bench(const test::BenchOptions& options = {},
                 const test::QpOptions& qp = test::reliable())
      : RcBench(options, qp, on_demand()) {
    driver().add_eq(EventQueue::kAsyncEqn);
    driver().write_command(abi::CommandOpcode::kEnableKey, kRegion);
    *driver().at(driver().command_queue + 2) = 1;  // its modifier
    driver().ring_command();
    run();
    for (std::uint64_t page = 0; page < region.pages.size(); ++page) set_page(page, false);
    host.memory.log.clear();
  }
  void set_page(std::uint64_t page, bool present) {
    const abi::KeyEntry entry = abi::KeyEntry::read(driver().key_entry(kRegion));
    const PhysicalAddress address(present ? region.pages.at(page) : 0);
    abi::TableEntry{present, address}.write(
        driver().at(entry.table.value() + page * abi::kTableEntryBytes));
  }
  /// "offset+bytes+ahead" of the faults that the driver is told of.
  std::string faults() {
    std::string text;
    for (const abi::Eqe& event : driver().events(EventQueue::kAsyncEqn)) {
      if (event.type != abi::EventType::kPageFault) continue;
      CHECK(event.fault.key == region.key);
      number = event.object;
      text += std::to_string(event.fault.address.value() - region.start) + "+" +
              std::to_string(event.fault.bytes) + "+" + std::to_string(event.fault.ahead) + " ";
    }
    return text;
  }
  void resume() {
    std::uint8_t value[4];
    store_be32(value, number);
    host.mmio(abi::kPageFaultResume, value, sizeof value);
    run();
  }
  void bring_in(std::uint64_t page) {
    set_page(page, true);
    resume();
  }
  std::uint64_t absent_requests() { return host.metric("responder.absent"); }

  std::uint32_t number = 0;  ///< of the last fault
};

}  // namespace

TEST_CASE("a WRITE to an absent page is answered with RNR NAK, and taken when it comes again") {
  Bench bench;
  bench.give({bench.write_only(100, 16, 1000)});
  CHECK(bench.said() == "Acknowledge 100 2c/0; ");
  CHECK(bench.faults() == "16+1000+0 ");
  CHECK(bench.payload(true).empty());
  bench.bring_in(0);
  CHECK(bench.said().empty());
  bench.give({bench.write_only(100, 16, 1000)});
  CHECK(bench.said() == "Acknowledge 100 1f/1; ");
  CHECK(bench.holds(16, 100, 1000));
  CHECK(bench.absent_requests() == 1);
  CHECK(bench.faults().empty());
}

TEST_CASE("a request that comes again too early is refused again; its page has one fault") {
  Bench bench;
  bench.give({bench.write_only(100, 16, 1000)});
  bench.give({bench.write_only(100, 16, 1000)});
  CHECK(bench.said() == "Acknowledge 100 2c/0; Acknowledge 100 2c/0; ");
  CHECK(bench.faults() == "16+1000+0 ");
}

TEST_CASE("an answer of the driver without the page leads to another fault") {
  Bench bench;
  bench.give({bench.write_only(100, 16, 1000)});
  CHECK(bench.faults() == "16+1000+0 ");
  bench.resume();
  bench.give({bench.write_only(100, 16, 1000)});
  CHECK(bench.faults() == "16+1000+0 ");
}

TEST_CASE("a message goes as far as its pages are there, and what it wants further is told") {
  Bench bench;
  bench.set_page(0, true);
  const std::uint64_t at = 2 * 1024;
  const std::uint32_t total = 8 * 1024;
  bench.give({bench.write_request(Opcode::kWriteFirst, Psn(100), 1024, bench.region, at, total),
              bench.request(Opcode::kWriteMiddle, Psn(101), 1024),
              bench.request(Opcode::kWriteMiddle, Psn(102), 1024),
              bench.request(Opcode::kWriteMiddle, Psn(103), 1024)});
  CHECK(bench.said() == "Acknowledge 102 2c/0; ");
  CHECK(bench.faults() == "4096+1024+5120 ");
  CHECK(bench.holds(at, 100, 1024));
  CHECK(bench.holds(at + 1024, 101, 1024));
  bench.bring_in(1);
  PacketRef middle = bench.request(Opcode::kWriteMiddle, Psn(102), 1024);
  middle->bth.ack_req = true;
  bench.give({std::move(middle)});
  CHECK(bench.said() == "Acknowledge 102 1f/0; ");
  CHECK(bench.holds(at + 2048, 102, 1024));
}

TEST_CASE("of a packet on two pages the second may be the absent one") {
  Bench bench;
  bench.set_page(0, true);
  bench.give({bench.write_only(100, kPage - 100, 1000)});
  CHECK(bench.said() == "Acknowledge 100 2c/0; ");
  CHECK(bench.faults() == "4096+900+0 ");
  bench.bring_in(1);
  bench.give({bench.write_only(100, kPage - 100, 1000)});
  CHECK(bench.holds(kPage - 100, 100, 1000));
}

TEST_CASE("a READ of an absent page is answered when it comes again") {
  Bench bench;
  bench.give({bench.read_request(100, 8, 3000)});
  CHECK(bench.said() == "Acknowledge 100 2c/0; ");
  CHECK(bench.faults() == "8+1024+1976 ");
  bench.bring_in(0);
  bench.give({bench.read_request(100, 8, 3000)});
  CHECK(
      bench.said() ==
      "RDMA READ response First 100; RDMA READ response Middle 101; RDMA READ response Last 102; ");
}

TEST_CASE("answers to a READ wait for a page behind the first") {
  Bench bench;
  bench.set_page(0, true);
  bench.give({bench.read_request(100, 3 * 1024, 2048)});
  CHECK(bench.said() == "RDMA READ response First 100; ");
  CHECK(bench.faults() == "4096+1024+0 ");
  bench.bring_in(1);
  CHECK(bench.said() == "RDMA READ response Last 101; ");
}

TEST_CASE("an atomic on an absent page is executed once, when its page is there") {
  Bench bench;
  bench.give({bench.atomic(Opcode::kFetchAdd, 100, 8, 5)});
  CHECK(bench.said() == "Acknowledge 100 2c/0; ");
  CHECK(bench.faults() == "8+8+0 ");
  bench.bring_in(0);
  bench.give({bench.atomic(Opcode::kFetchAdd, 100, 8, 5)});
  CHECK(bench.said() == "ATOMIC Acknowledge 100 1f/1; ");
  CHECK(bench.reads_of(DmaPurpose::kAtomic).size() == 2);  // one read, one write
}

TEST_CASE("a SEND whose receive is absent is answered with RNR NAK and keeps its receive") {
  Bench bench;
  bench.post_receive(16, 4000);
  bench.driver().ring(Qpn(1));
  bench.give({bench.request(Opcode::kSendFirst, Psn(100), 1024),
              bench.request(Opcode::kSendLast, Psn(101), 100)});
  CHECK(bench.said() == "Acknowledge 100 2c/0; ");
  CHECK(bench.faults() == "16+1024+2976 ");
  CHECK(bench.completions().empty());
  bench.bring_in(0);
  bench.give({bench.request(Opcode::kSendFirst, Psn(100), 1024),
              bench.request(Opcode::kSendLast, Psn(101), 100)});
  CHECK(bench.said() == "Acknowledge 101 1f/1; ");
  CHECK(bench.completions() == "R0:0 ");
  CHECK(bench.holds(16, 100, 1024));
  CHECK(bench.holds(16 + 1024, 101, 100));
}

TEST_CASE("what the NIC has to send from an absent page is sent when the page is there") {
  Bench bench;
  bench.write(16, 1000);
  bench.ring();
  CHECK(bench.said().empty());
  CHECK(bench.faults() == "16+1000+0 ");
  bench.bring_in(0);
  CHECK(bench.said() == "RDMA WRITE Only 100; ");
  CHECK(bench.host.metric("retransmitter.packets_again") == 0);
  bench.give({bench.ack(100)});
  CHECK(bench.completions() == "0:0 ");
}

TEST_CASE("packets before the absent page are sent, and the message goes on where it stopped") {
  Bench bench;
  bench.set_page(0, true);
  bench.write(3 * 1024, 3 * 1024);
  bench.write(0, 100);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE First 100; ");
  CHECK(bench.faults() == "4096+1024+1024 ");
  bench.bring_in(1);
  CHECK(bench.said() == "RDMA WRITE Middle 101; RDMA WRITE Last 102; RDMA WRITE Only 103; ");
  bench.give({bench.ack(103)});
  CHECK(bench.completions() == "0:0 1:0 ");
}

TEST_CASE(
    "an RNR NAK for what was sent before the absent page sends that again, after both waits") {
  Bench bench;
  bench.set_page(0, true);
  bench.write(3 * 1024, 2 * 1024);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE First 100; ");
  bench.give({bench.rnr_nak(100, 1)});  // 10 us
  CHECK(bench.said().empty());          // the page is still absent
  CHECK(bench.faults() == "4096+1024+0 ");
  bench.bring_in(1);
  CHECK(bench.said() == "RDMA WRITE First 100; RDMA WRITE Last 101; ");
}

TEST_CASE("another queue pair goes on while one waits for a page") {
  Bench bench;
  test::QpOptions options = test::reliable();
  options.send_psn = Psn(500);
  bench.driver().add_qp(Qpn(2), options);
  bench.set_page(1, true);
  bench.write(16, 1000);
  bench.driver().ring(Qpn(1));
  bench.driver().post(Qpn(2), bench.work(WqeOpcode::kRdmaWrite, kPage, 1000));
  bench.driver().ring(Qpn(2));
  bench.run();
  CHECK(bench.said() == "RDMA WRITE Only 500; ");
  CHECK(bench.faults() == "16+1000+0 ");
  bench.bring_in(0);
  CHECK(bench.said() == "RDMA WRITE Only 100; ");
}

TEST_CASE("answers to a READ whose place at home is absent are dropped and asked for again") {
  Bench bench;
  bench.set_page(0, true);
  bench.read(3 * 1024, 3 * 1024);
  bench.ring();
  CHECK(bench.said() == "RDMA READ Request 100; ");
  bench.give({bench.answer(Opcode::kReadResponseFirst, 100, 1024),
              bench.answer(Opcode::kReadResponseMiddle, 101, 1024),
              bench.answer(Opcode::kReadResponseLast, 102, 1024)});
  CHECK(bench.faults() == "4096+1024+1024 ");
  CHECK(bench.completions().empty());
  CHECK(bench.said().empty());
  bench.bring_in(1);
  CHECK(bench.said() == "RDMA READ Request 101; ");
  CHECK(bench.wire.packets.back()->reth.virtual_address.value() == test::kFar + 4 * 1024);
  CHECK(bench.wire.packets.back()->reth.dma_length == 2048);
  bench.give({bench.answer(Opcode::kReadResponseFirst, 101, 1024),
              bench.answer(Opcode::kReadResponseLast, 102, 1024)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.holds(3 * 1024, 100, 1024));
  CHECK(bench.holds(4 * 1024, 101, 1024));
  CHECK(bench.holds(5 * 1024, 102, 1024));
  CHECK(bench.host.metric("retransmitter.packet_seq_err") == 0);
}

TEST_CASE("the result of an atomic whose place is absent is asked for again") {
  Bench bench;
  bench.fetch_add(8, 5);
  bench.ring();
  CHECK(bench.said() == "FetchAdd 100; ");
  bench.give({bench.original(100, 77)});
  CHECK(bench.faults() == "8+8+0 ");
  bench.bring_in(0);
  CHECK(bench.said() == "FetchAdd 100; ");
  bench.give({bench.original(100, 77)});
  CHECK(bench.completions() == "0:0 ");
  CHECK(bench.byte(8) == 77);
}

TEST_CASE("a region that goes while a message waits for its page fails the message") {
  Bench bench;
  bench.write(16, 1000);
  bench.ring();
  CHECK(bench.faults() == "16+1000+0 ");
  abi::KeyEntry gone;
  gone.key = bench.region.key;
  bench.driver().write_key(kRegion, gone);
  CHECK(bench.driver().command(abi::CommandOpcode::kDisableKey, kRegion) ==
        abi::CommandStatus::kOk);
  CHECK(bench.completions() == "0:4 ");  // local protection error
  CHECK(bench.said().empty());
}

TEST_CASE("pages that were absent are found in the cache from their second use on") {
  Bench bench;
  bench.give({bench.write_only(100, 16, 1000)});
  bench.faults();
  bench.bring_in(0);
  bench.give({bench.write_only(100, 16, 1000)});
  const std::size_t walks = bench.reads_of(DmaPurpose::kTranslationTable).size();
  bench.give({bench.write_only(101, 16, 1000)});
  CHECK(bench.reads_of(DmaPurpose::kTranslationTable).size() == walks);
}

TEST_CASE("answers that waited for one page cause one fault, however many they are") {
  Bench bench;
  bench.set_page(0, true);
  bench.give({bench.read_request(100, 3 * 1024, 5 * 1024)});
  CHECK(bench.said() == "RDMA READ response First 100; ");
  CHECK(bench.faults() == "4096+1024+3072 ");
  bench.bring_in(1);
  CHECK(bench.faults().empty());
  CHECK(bench.said() ==
        "RDMA READ response Middle 101; RDMA READ response Middle 102; RDMA READ response Middle "
        "103; RDMA READ response Last 104; ");
}

TEST_CASE("a READ that has failed at home waits for no page, and its queue pair is flushed") {
  Bench bench;
  bench.set_page(0, true);
  test::MiniDriver::Write w = bench.work(WqeOpcode::kRdmaRead, 0, 0);
  w.gather = {{bench.region.start, 1024, MemoryKey(9, 1)},
              {bench.region.start + kPage, 1024, bench.region.key}};
  bench.post(w);
  bench.write(0, 8);
  bench.ring();
  bench.said();
  bench.give({bench.answer(Opcode::kReadResponseFirst, 100, 1024),
              bench.answer(Opcode::kReadResponseLast, 101, 1024)});
  if (!bench.faults().empty()) bench.bring_in(1);
  CHECK(bench.completions() == "0:4 1:5 ");
}

TEST_CASE("a queue pair in error still writes what has come, and blames the right work request") {
  Bench bench;
  bench.read(kPage, 1024);
  bench.write(0, 8);
  bench.set_page(0, true);
  bench.ring();
  bench.said();
  bench.give({bench.answer(Opcode::kReadResponseOnly, 100, 1024),
              bench.nak(101, NakCode::kRemoteAccessError)});
  CHECK(bench.faults() == "4096+1024+0 ");
  CHECK(bench.completions().empty());
  bench.bring_in(1);
  CHECK(bench.completions() == "0:0 1:10 ");
  CHECK(bench.holds(kPage, 100, 1024));
}

TEST_CASE("a SEND that stands in its completion entry needs no page") {
  test::QpOptions qp = test::reliable();
  qp.inline_receive = true;
  Bench bench({}, qp);
  bench.post_receive(16, 4000);
  bench.driver().ring(Qpn(1));
  bench.give({bench.request(Opcode::kSendOnly, Psn(100), 20)});
  CHECK(bench.said() == "Acknowledge 100 1f/1; ");
  CHECK(bench.faults().empty());
  CHECK(bench.completions() == "R0:0 ");
}

TEST_CASE("by go-back-0 a message that waits for its page may be asked for from its beginning") {
  test::BenchOptions options;
  options.nic.retransmitter.mode = Retransmission::kGoBack0;
  Bench bench(options);
  bench.set_page(0, true);
  bench.write(1024, 5 * 1024);
  bench.ring();
  CHECK(bench.said() == "RDMA WRITE First 100; RDMA WRITE Middle 101; RDMA WRITE Middle 102; ");
  bench.give({bench.ack(100)});
  bench.give({bench.nak(100, NakCode::kPsnSequenceError)});
  CHECK(bench.said().empty());
  CHECK(bench.faults() == "4096+1024+1024 ");
  bench.bring_in(1);
  CHECK(bench.said() ==
        "RDMA WRITE First 100; RDMA WRITE Middle 101; RDMA WRITE Middle 102; RDMA WRITE Middle "
        "103; RDMA WRITE Last 104; ");
}

TEST_CASE("a queue pair that is reset while it waits begins anew") {
  Bench bench;
  bench.write(16, 1000);
  bench.ring();
  CHECK(bench.faults() == "16+1000+0 ");
  REQUIRE(bench.driver().modify_qp(Qpn(1), QpState::kErr) == abi::CommandStatus::kOk);
  CHECK(bench.completions() == "0:5 ");
  bench.bring_in(0);
  CHECK(bench.said().empty());
  CHECK(bench.host.nic.idle());
}
