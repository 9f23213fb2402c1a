// SPDX-License-Identifier: MIT
#include "scenarios/engine/pair_operation.h"

#include <set>

namespace rnicsim {

namespace {

using Message = MessageLedger::Message;
using Places = std::map<std::uint64_t, std::uint64_t>;

/// After lost packets nobody knows what a message that failed, or whose transport does not care,
/// left in memory.
bool unknown_after(const PairOperation::Outcome& outcome, bool unreliable, const Message& message) {
  return outcome.disturbed && (unreliable || !message.succeeded());
}

/// The nth receive of a queue pair got its nth message: none was lost on the way.
bool in_order(const WorkloadSpec& spec, const PairOperation::Outcome& outcome) {
  return spec.transport == WorkloadTransport::kRc ||
         outcome.received.succeeded() == outcome.ledger.succeeded();
}

/// What came to receives: messages of the right size, with their number as immediate.
void check_receives(const WorkloadSpec& spec, const PairOperation::Outcome& outcome,
                    PairOperation::Difference& difference) {
  const bool known = in_order(spec, outcome);
  const bool immediate =
      spec.operation == Operation::kSendImm || spec.operation == Operation::kWriteImm;
  std::uint64_t wrong = 0;
  for (std::uint32_t qp = 0; qp < spec.queue_pairs; ++qp) {
    std::uint64_t nth = 0;
    for (const ReceivedMessages::Message& message : outcome.received.of(qp)) {
      if (!message.success) continue;
      const std::uint64_t number = spec.number_of(qp, nth++);
      const bool right = message.bytes == spec.size.count() &&
                         message.with_immediate == immediate &&
                         (!immediate || !known || message.immediate == number);
      if (!right) ++wrong;
    }
  }
  difference.add(wrong, "receives with a wrong length or immediate");
}

class WriteOperation : public PairOperation {
 public:
  using PairOperation::PairOperation;
  AccessFlags needs() const override { return AccessFlags(AccessFlags::kRemoteWrite); }
  void complete(SendRequest& request, std::uint64_t number, std::uint64_t /*offset*/) override {
    const bool immediate = spec_.operation == Operation::kWriteImm;
    request.opcode = immediate ? abi::WqeOpcode::kRdmaWriteImm : abi::WqeOpcode::kRdmaWrite;
    request.immediate = immediate ? static_cast<std::uint32_t>(number) : 0;
  }
  void verify(const Outcome& outcome, Difference& difference) override {
    if (spec_.operation == Operation::kWriteImm) check_receives(spec_, outcome, difference);
    Places written;
    std::set<std::uint64_t> unknown;
    outcome.ledger.for_each([&](std::uint64_t, const Message& message) {
      if (message.succeeded()) written[message.remote_offset] = message.local_offset;
      if (unknown_after(outcome, unreliable(), message)) unknown.insert(message.remote_offset);
    });
    RegionImage image = sides_.target.image();
    image.expect(sides_.target_seed, written, unknown, spec_.size.count(), sides_.initiator_seed);
    difference.add(image, sides_.target.host);
  }
};

class ReadOperation : public PairOperation {
 public:
  using PairOperation::PairOperation;
  AccessFlags needs() const override { return AccessFlags(AccessFlags::kRemoteRead); }
  void complete(SendRequest& request, std::uint64_t /*number*/, std::uint64_t /*offset*/) override {
    request.opcode = abi::WqeOpcode::kRdmaRead;
  }
  void verify(const Outcome& outcome, Difference& difference) override {
    Places brought;
    std::set<std::uint64_t> unknown;
    outcome.ledger.for_each([&](std::uint64_t, const Message& message) {
      if (message.succeeded()) brought[message.local_offset] = message.remote_offset;
      if (unknown_after(outcome, unreliable(), message)) unknown.insert(message.local_offset);
    });
    RegionImage image = sides_.initiator.image();
    image.expect(sides_.initiator_seed, brought, unknown, spec_.size.count(), sides_.target_seed);
    difference.add(image, sides_.initiator.host);
  }
};

class SendOperation : public PairOperation {
 public:
  using PairOperation::PairOperation;
  AccessFlags needs() const override { return AccessFlags(); }
  void complete(SendRequest& request, std::uint64_t number, std::uint64_t /*offset*/) override {
    const bool immediate = spec_.operation == Operation::kSendImm;
    request.opcode = immediate ? abi::WqeOpcode::kSendImm : abi::WqeOpcode::kSend;
    request.immediate = immediate ? static_cast<std::uint32_t>(number) : 0;
    request.remote_address = VirtualAddress();
    request.rkey = MemoryKey();
  }
  /// Which message a receive got does not matter if all are alike. Of receives that nobody has
  /// looked at, nothing is known.
  void verify(const Outcome& outcome, Difference& difference) override {
    if (!spec_.receiver_polls) return;
    check_receives(spec_, outcome, difference);
    const bool matched = in_order(spec_, outcome) || spec_.local_offset == OffsetPattern::kFixed;
    if (!unreliable() && outcome.received.succeeded() < outcome.ledger.succeeded())
      difference.add(1, "messages were acknowledged that no receive has got");
    std::vector<std::uint64_t> sources(spec_.count);
    outcome.ledger.for_each([&](std::uint64_t number, const Message& message) {
      sources[number] = message.local_offset;
    });
    const std::uint64_t header = spec_.step().count() - spec_.size.count();
    Places came;
    std::set<std::uint64_t> unknown;
    for (std::uint32_t qp = 0; qp < spec_.queue_pairs; ++qp) {
      std::uint64_t nth = 0;
      for (const ReceivedMessages::Message& message : outcome.received.of(qp)) {
        const std::uint64_t number = spec_.number_of(qp, nth++);
        if (message.success) came[message.place + header] = sources[number];
        if (!matched || !message.success || (unreliable() && outcome.disturbed))
          unknown.insert(message.place + header);
      }
    }
    compare(came, unknown, header, difference);
  }

 private:
  /// A datagram's GRH is the NIC's business.
  void compare(const Places& came, const std::set<std::uint64_t>& unknown, std::uint64_t header,
               Difference& difference) {
    RegionImage image = sides_.target.image();
    if (header == 0) {
      image.expect(sides_.target_seed, came, unknown, spec_.size.count(), sides_.initiator_seed);
    } else {
      for (const auto& [place, source] : came)
        if (unknown.count(place) == 0)
          image.expect(place, place + spec_.size.count(), sides_.initiator_seed, source);
    }
    difference.add(image, sides_.target.host);
  }
};

/// Nothing happens to anybody's memory: the target's is as it was.
class BindOperation : public PairOperation {
 public:
  using PairOperation::PairOperation;
  void prepare(CpuTask& task) override {
    for (std::uint32_t i = 0; i < spec_.queue_pairs; ++i) {
      const auto window = sides_.initiator.process.verbs.alloc_mw(task, sides_.initiator.pd);
      require(window.error, "alloc_mw");
      keys_.push_back(window.value.rkey);
    }
  }
  AccessFlags needs() const override { return AccessFlags(); }
  /// The piece that would be sent is what the window shows, or nothing to free it.
  void complete(SendRequest& request, std::uint64_t number, std::uint64_t /*offset*/) override {
    MemoryKey& key = keys_[number % spec_.queue_pairs];
    const bool binds = number / spec_.queue_pairs % 2 == 0;
    if (binds) key = MemoryKey(key.index(), static_cast<std::uint8_t>(key.variant() + 1));
    request.opcode = abi::WqeOpcode::kBindWindow;
    request.bind.window = key;
    request.bind.region = request.list->lkey;
    request.bind.address = request.list->address;
    request.bind.length = binds ? request.list->length : 0;
    request.bind.access = AccessFlags(AccessFlags::kRemoteWrite | AccessFlags::kRemoteRead);
    request.list = nullptr;
    request.list_length = 0;
    request.remote_address = VirtualAddress();
    request.rkey = MemoryKey();
  }
  void verify(const Outcome& /*outcome*/, Difference& difference) override {
    RegionImage image = sides_.target.image();
    image.expect(sides_.target_seed, {}, {}, spec_.size.count(), sides_.initiator_seed);
    difference.add(image, sides_.target.host);
  }

 private:
  std::vector<MemoryKey> keys_;  ///< of each queue pair's window
};

class SendInvalidateOperation : public SendOperation {
 public:
  using SendOperation::SendOperation;
  AccessFlags needs() const override { return WindowLeases::rights(); }
  void complete(SendRequest& request, std::uint64_t number, std::uint64_t offset) override {
    SendOperation::complete(request, number, offset);
    request.opcode = abi::WqeOpcode::kSendInvalidate;
    request.invalidate =
        sides_.windows.next_key(static_cast<std::uint32_t>(number % spec_.queue_pairs));
  }
  void verify(const Outcome& outcome, Difference& difference) override {
    difference.add(sides_.windows.wrong(), "a key was not taken away by the SEND that named it");
    SendOperation::verify(outcome, difference);
  }
};

class AtomicOperation : public PairOperation {
 public:
  using PairOperation::PairOperation;
  AccessFlags needs() const override { return AccessFlags(AccessFlags::kRemoteAtomic); }
  void complete(SendRequest& request, std::uint64_t /*number*/, std::uint64_t offset) override {
    std::uint64_t& posted = posted_[offset];
    if (spec_.operation == Operation::kFetchAdd) {
      request.opcode = abi::WqeOpcode::kAtomicFetchAdd;
      request.compare_add = 1;
    } else {
      request.opcode = abi::WqeOpcode::kAtomicCompareSwap;
      request.compare_add = value_after(offset, posted);
      request.swap = value_after(offset, posted + 1);
    }
    ++posted;
  }
  void settled(const Message& message) override {
    if (!message.succeeded()) return;
    const std::uint64_t before = value_after(message.remote_offset, done_[message.remote_offset]++);
    if (sides_.initiator.image().number(message.local_offset) != before) ++wrong_answers_;
  }
  void verify(const Outcome& outcome, Difference& difference) override {
    difference.add(wrong_answers_, "atomics brought another value than was there before them");
    RegionImage image = sides_.target.image();
    for (const auto& [offset, count] : posted_)
      if (!outcome.disturbed || done_[offset] == count)
        image.expect_number(offset, value_after(offset, done_[offset]));
    difference.add(image, sides_.target.host);
  }

 private:
  /// What a place holds after so many atomics on it.
  std::uint64_t value_after(std::uint64_t offset, std::uint64_t count) const {
    return pattern_number(sides_.target_seed, offset) + count;
  }

  std::map<std::uint64_t, std::uint64_t> posted_;  ///< by place
  std::map<std::uint64_t, std::uint64_t> done_;
  std::uint64_t wrong_answers_ = 0;
};

}  // namespace

void PairOperation::Difference::add(const RegionImage& image, const std::string& host) {
  if (image.mismatched() == 0) return;
  bytes += image.mismatched();
  if (text.empty())
    text = std::to_string(image.mismatched()) + " bytes of host " + host +
           "'s memory differ, the first at offset " + std::to_string(image.first_mismatch()) +
           " of its region";
}

void PairOperation::Difference::add(std::uint64_t count, const std::string& what) {
  if (count != 0 && text.empty()) text = std::to_string(count) + " times: " + what;
}

std::unique_ptr<PairOperation> PairOperation::make(const WorkloadSpec& spec, const Sides& sides) {
  switch (spec.operation) {
    case Operation::kWrite:
    case Operation::kWriteImm:
      return std::make_unique<WriteOperation>(spec, sides);
    case Operation::kRead:
      return std::make_unique<ReadOperation>(spec, sides);
    case Operation::kSend:
    case Operation::kSendImm:
      return std::make_unique<SendOperation>(spec, sides);
    case Operation::kBindWindow:
      return std::make_unique<BindOperation>(spec, sides);
    case Operation::kSendInvalidate:
      return std::make_unique<SendInvalidateOperation>(spec, sides);
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      break;
  }
  return std::make_unique<AtomicOperation>(spec, sides);
}

}  // namespace rnicsim
