// SPDX-License-Identifier: MIT
// A queue pair ready to send, a mapped buffer, and what a test of the verbs library does with them.
#pragma once

#include <catch2/catch.hpp>
#include <functional>

#include "tests/support/software_host.h"

namespace rnicsim::test {

struct Session {
  explicit Session(const VerbsConfig& verbs = {}) : host(true, {}, verbs) {}
  SoftwareHost host;
  CompletionQueue* cq = nullptr;
  QueuePair* qp = nullptr;
  VirtualAddress buffer;
  ScatterGather piece;
  QueuePairInit init;  ///< the test changes what it wants before run()
  std::uint32_t requests = 4;
  std::uint32_t cq_entries = 4;

  void run(const std::function<void(CpuTask&)>& body) {
    REQUIRE(host.run([&](CpuTask& task) {
      REQUIRE(host.driver.bring_up(task) == Errno::kOk);
      buffer = *host.pages.map(Bytes(8192), PageSize::k4KiB);
      cq = host.verbs.create_cq(task, cq_entries).value;
      init.pd = host.verbs.alloc_pd(task);
      init.send_cq = cq;
      init.receive_cq = cq;
      init.max_send_requests = requests;
      qp = host.verbs.create_qp(task, init).value;
      to_rts(task, qp);
      task.settle();
      body(task);
    }));
  }
  void to_rts(CpuTask& task, QueuePair* pair) {
    for (const QpState state : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      QpAttributes attributes;
      attributes.state = state;
      REQUIRE(host.verbs.modify_qp(task, pair, attributes) == Errno::kOk);
    }
  }
  SendRequest write(std::uint64_t id, std::uint32_t length, bool inline_data = false) {
    piece = {buffer, length, MemoryKey(0x00abcd01)};
    SendRequest request;
    request.id = id;
    request.list = &piece;
    request.list_length = 1;
    request.remote_address = VirtualAddress(0x1122334455667788);
    request.rkey = MemoryKey(0x99aabb02);
    request.inline_data = inline_data;
    return request;
  }
  SendRequest request(abi::WqeOpcode opcode, std::uint32_t length) {
    SendRequest made = write(1, length);
    made.opcode = opcode;
    if (length == 0) made.list_length = 0;
    return made;
  }
};

}  // namespace rnicsim::test
