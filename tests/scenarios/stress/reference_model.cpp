// SPDX-License-Identifier: MIT
#include "tests/scenarios/stress/reference_model.h"

#include <algorithm>

#include "model/byte_order.h"
#include "tests/scenarios/stress/mismatch.h"

namespace rnicsim::stress {

namespace {

constexpr std::uint32_t kGrh = 40;

template <class... Parts>
[[noreturn]] void wrong(const End& end, const Parts&... parts) {
  mismatch(end.side->server.name, " qp ", end.index, " (number ", end.qp->qpn().value(),
           "): ", parts...);
}

void compare(const End& end, const Data& found, const Data& expected, const char* what,
             std::uint64_t number) {
  if (found == expected) return;
  std::size_t i = 0;
  while (i < expected.size() && found[i] == expected[i]) ++i;
  std::size_t wrong_bytes = 0;
  for (std::size_t j = 0; j < expected.size(); ++j) wrong_bytes += found[j] != expected[j];
  wrong(end, what, " ", number, ": ", wrong_bytes, " of ", expected.size(),
        " bytes are wrong, the first at ", i, ": ", int{found[i]}, ", not ", int{expected[i]});
}

}  // namespace

ReferenceModel::ReferenceModel(const Settings& settings)
    : s_(settings), promise_(promise_of(settings)) {}

ReferenceModel::Promise ReferenceModel::promise_of(const Settings& settings) {
  Promise promise;
  if (settings.transport == Transport::kRc) return promise;
  promise.all = false;
  promise.in_order = !settings.has_fault(FaultKind::kReorder);
  promise.most = settings.has_fault(FaultKind::kDuplicate) ? 2 : 1;
  return promise;
}

void ReferenceModel::begin(TwoServers& servers) {
  for (Side* side : {&servers.a, &servers.b}) {
    for (End& end : side->ends) {
      end.reference = end.peer->side->load(end.peer->region.address, kReferenced);
      end.allowed.resize(kReferenced);
      note_allowed(end);
    }
  }
}

void ReferenceModel::carry_out(End& end, Operation& op) const {
  const auto window = end.reference.begin() + op.remote;
  if (takes_receive(op.kind)) end.taking.push_back(op.immediate);
  if (is_write(op.kind)) {
    // What an earlier READ reads must not change before it has been answered.
    for (const Piece& read : end.unfenced_reads)
      if (read.offset < op.remote + op.length && op.remote < read.offset + read.length)
        op.fence = true;
    std::copy(op.data.begin(), op.data.end(), window);
  }
  if (op.fence) end.unfenced_reads.clear();
  if (op.kind == kRead) {
    op.data.assign(window, window + op.length);
    end.unfenced_reads.push_back({op.remote, op.length});
  }
  if (is_atomic(op.kind)) carry_out_atomic(end, op);
  end.arrived.push_back(0);
  if (s_.may_fail || !promise_.all) note_allowed(end);
}

void ReferenceModel::carry_out_atomic(End& end, Operation& op) const {
  if (op.shared) {
    ++end.peer->side->shared_adds;
    return;
  }
  std::uint8_t* counter = end.reference.data() + op.remote;
  const std::uint64_t original = load_le64(counter);
  op.data.assign(counter, counter + 8);
  if (op.kind == kFetchAdd)
    store_le64(counter, original + op.swap_or_add);
  else if (op.compare == original)
    store_le64(counter, op.swap_or_add);
}

/// Bytes that the peer's memory may hold although not all operations were carried out.
void ReferenceModel::note_allowed(End& end) const {
  for (std::uint32_t i = 0; i < kReferenced; ++i) end.allowed[i].set(end.reference[i]);
}

void ReferenceModel::send_completed(End& end, const WorkCompletion& done) const {
  if (done.id >= end.posted || done.id < end.retired)
    wrong(end, "completion of request ", done.id, ", posted ", end.posted, ", complete ",
          end.retired);
  const bool success = done.status == CompletionStatus::kSuccess;
  const Operation& op = end.operations[done.id];
  if (success && (op.wrong_lkey || op.wrong_rkey))
    wrong(end, "request ", done.id, " succeeded with a wrong key");
  if (!success && !s_.may_fail) wrong(end, "request ", done.id, ": ", name_of(done.status));
  if (end.failed) {
    flushed(end, done);
    return;
  }
  if (success &&
      (!op.signaled || done.opcode != kCompletedAs[op.kind] || (done.bytes != op.length)))
    wrong(end, "completion of request ", done.id, " says opcode ", static_cast<int>(done.opcode),
          ", ", done.bytes, " bytes, not ", op.length);
  while (end.retired < done.id) {
    if (end.operations[end.retired].signaled)
      wrong(end, "no completion of request ", end.retired, " before that of ", done.id);
    retire(end);
  }
  if (success) {
    retire(end);
    return;
  }
  end.failed = true;
  end.succeeded = end.retired++;
}

void ReferenceModel::flushed(End& end, const WorkCompletion& done) const {
  if (done.status != CompletionStatus::kFlushed || done.id != end.retired)
    wrong(end, "request ", done.id, " ", name_of(done.status), " behind a failure, expected ",
          end.retired, " to be flushed");
  ++end.retired;
}

/// The oldest request has succeeded: it must have brought what it should.
void ReferenceModel::retire(End& end) const {
  const Operation& op = end.operations[end.retired];
  if (op.wrong_lkey || op.wrong_rkey)
    wrong(end, "request ", end.retired, " passed with a wrong key");
  if (op.kind == kRead || is_atomic(op.kind)) {
    Data brought;
    for (const Piece& piece : op.pieces) {
      const Data part = end.side->load(at(end.region, piece.offset), piece.length);
      brought.insert(brought.end(), part.begin(), part.end());
    }
    if (op.shared)
      end.peer->side->shared_originals.push_back(load_le64(brought.data()));
    else
      compare(end, brought, op.data, "request", end.retired);
  }
  ++end.retired;
}

void ReferenceModel::receive_completed(End& end, std::uint32_t slot,
                                       const WorkCompletion& done) const {
  if (done.status != CompletionStatus::kSuccess) {
    receive_ended_badly(end, done.status);
    return;
  }
  if (end.receive_failed) wrong(end, "a receive succeeded behind one that was flushed");
  const std::uint32_t number = message_of(end, done);
  judge_receive(end, end.peer->operations[number], slot, done);
}

void ReferenceModel::receive_ended_badly(End& end, CompletionStatus status) const {
  if (!s_.may_fail) wrong(end, "a receive failed: ", name_of(status));
  const bool refused = status == CompletionStatus::kLocalProtectionError ||
                       status == CompletionStatus::kLocalAccessError;
  const bool first_refused = refused && s_.wrong_keys && !end.receive_failed;
  if (status != CompletionStatus::kFlushed && !first_refused)
    wrong(end, "a receive ended with ", name_of(status));
  end.receive_failed = true;
}

/// Which of the peer's operations has arrived.
std::uint32_t ReferenceModel::message_of(End& end, const WorkCompletion& done) const {
  End& from = *end.peer;
  if (promise_.all) {
    if (from.received == from.taking.size()) wrong(end, "a message came that was not sent");
    return from.taking[from.received++];
  }
  const std::uint32_t number = done.immediate;
  if (!std::binary_search(from.taking.begin(), from.taking.end(), number))
    wrong(end, "a message came that was not sent, ", number);
  if (promise_.in_order && number < from.last_arrived)
    wrong(end, "message ", number, " came behind message ", from.last_arrived);
  if (++from.arrived[number] > promise_.most)
    wrong(end, "message ", number, " came more than ", promise_.most, " times");
  from.last_arrived = number;
  ++from.received;
  return number;
}

void ReferenceModel::judge_receive(End& end, const Operation& op, std::uint32_t slot,
                                   const WorkCompletion& done) const {
  const std::uint32_t prefix = s_.transport == Transport::kUd ? kGrh : 0;
  const bool immediate = (done.flags & WorkCompletion::kWithImmediate) != 0;
  const WcOpcode opcode =
      op.kind == kWriteImm ? WcOpcode::kReceiveRdmaWithImmediate : WcOpcode::kReceive;
  if (done.opcode != opcode || immediate != with_immediate(op.kind) ||
      (immediate && done.immediate != op.immediate) || done.bytes != op.length + prefix)
    wrong(end, "receive of request ", op.immediate, " of kind ", op.kind, " says opcode ",
          static_cast<int>(done.opcode), ", ", done.bytes, " bytes, not ", op.length + prefix,
          ", immediate ", done.immediate);
  Data expected(kReceiveSlot, kUntouched);
  Data found =
      end.side->load(at(end.receives->region, std::uint64_t{slot} * kReceiveSlot), kReceiveSlot);
  std::fill_n(found.begin(), prefix, kUntouched);
  if (is_send(op.kind)) std::copy(op.data.begin(), op.data.end(), expected.begin() + prefix);
  // Of a message that an unreliable connection lost in its middle some bytes may be there.
  if (s_.transport == Transport::kUc) {
    const std::uint32_t length = is_send(op.kind) ? op.length : 0;
    expected.resize(length);
    found.resize(length);
  }
  compare(end, found, expected, "receive of request", op.immediate);
}

bool ReferenceModel::has_all_messages(const End& end) const {
  return !promise_.all || end.peer->received == end.peer->taking.size();
}

void ReferenceModel::judge_memory(TwoServers& servers) const {
  for (Side* side : {&servers.a, &servers.b}) {
    for (End& end : side->ends) {
      judge_window(end);
      if (end.failed) judge_received(end);
    }
    judge_shared(*side);
  }
}

void ReferenceModel::judge_window(End& end) const {
  const Data found = end.peer->side->load(end.peer->region.address, kReferenced);
  if (promise_.all && !end.failed && !end.in_error) {
    compare(end, found, end.reference, "window of end", end.index);
    return;
  }
  for (std::uint32_t i = 0; i < kReferenced; ++i)
    if (!end.allowed[i].test(found[i]))
      wrong(end, "byte ", i, " of the window is ", int{found[i]}, ", which nobody wrote");
}

/// What succeeded for its sender has reached its receiver.
void ReferenceModel::judge_received(const End& end) const {
  const auto sent = std::lower_bound(end.taking.begin(), end.taking.end(), end.succeeded);
  if (end.received < static_cast<std::size_t>(sent - end.taking.begin()))
    wrong(end, sent - end.taking.begin(), " messages were sent with success, ", end.received,
          " received");
}

void ReferenceModel::judge_shared(Side& side) const {
  const Data found = side.load(at(side.ends[0].region, kShared), 8);
  const std::uint64_t count = load_le64(found.data());
  std::sort(side.shared_originals.begin(), side.shared_originals.end());
  for (std::size_t i = 0; i + 1 < side.shared_originals.size(); ++i)
    if (side.shared_originals[i] == side.shared_originals[i + 1])
      mismatch("two fetch-and-adds found the same value ", side.shared_originals[i]);
  if (count > side.shared_adds || count < side.shared_originals.size() ||
      (!s_.may_fail && count != side.shared_adds))
    mismatch("the shared counter is ", count, " after ", side.shared_adds, " additions, ",
             side.shared_originals.size(), " of them known to be done");
}

}  // namespace rnicsim::stress
