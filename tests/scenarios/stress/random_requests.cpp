// SPDX-License-Identifier: MIT
#include "tests/scenarios/stress/random_requests.h"

#include <algorithm>

#include "model/byte_order.h"

namespace rnicsim::stress {

Operation& RandomRequests::make(End& end) {
  Operation& op = end.operations.emplace_back();
  op.kind = random_kind();
  op.signaled = s_.plain || draws_.chance(3) || end.unsignaled + 1 >= s_.depth / 8 ||
                end.operations.size() == s_.operations;
  end.unsignaled = op.signaled ? 0 : end.unsignaled + 1;
  op.fence = !s_.plain && draws_.chance(20);
  op.immediate = static_cast<std::uint32_t>(end.operations.size() - 1);
  op.length = is_atomic(op.kind) ? 8 : random_length();
  if (s_.transport == Transport::kUd) op.length = std::min(op.length, s_.mtu);
  if (is_atomic(op.kind))
    make_atomic(end, op);
  else if (op.kind == kRead)
    make_read(end, op);
  else
    make_transfer(end, op);
  if (s_.wrong_keys && op.length != 0 && draws_.chance(200)) {
    op.wrong_lkey = !op.inlined && (is_send(op.kind) || draws_.chance(2));
    op.wrong_rkey = !op.wrong_lkey && !is_send(op.kind);
  }
  return op;
}

Kind RandomRequests::random_kind() {
  Kind kind;
  do kind = static_cast<Kind>(draws_.below(kKinds));
  while ((s_.kinds >> kind & 1) == 0);
  return kind;
}

std::uint32_t RandomRequests::random_length() {
  switch (draws_.below(6)) {
    case 0:
      return draws_.below(33);
    case 1:
      return s_.mtu * draws_.below(s_.max_length / s_.mtu + 1);
    case 2:
      return std::min(s_.max_length, s_.mtu + draws_.below(2));
    default:
      return draws_.below(s_.max_length + 1);
  }
}

/// Cuts `length` bytes into pieces that are not empty.
std::vector<std::uint32_t> RandomRequests::cut(std::uint32_t length) {
  std::vector<std::uint32_t> cuts;
  for (std::uint32_t i = 1 + draws_.below(s_.pieces); i > 1 && length > 1; --i) {
    const std::uint32_t piece = 1 + draws_.below(length - 1);
    cuts.push_back(piece);
    length -= piece;
  }
  if (length != 0) cuts.push_back(length);
  return cuts;
}

void RandomRequests::make_transfer(End& end, Operation& op) {
  op.inlined = !s_.plain && op.length != 0 && op.length <= 220 && draws_.chance(2);
  for (const std::uint32_t bytes : cut(op.length)) {
    const std::uint32_t offset = kSource + draws_.below(kSourceBytes - bytes + 1);
    op.pieces.push_back({offset, bytes});
    const Data part = end.side->load(at(end.region, offset), bytes);
    op.data.insert(op.data.end(), part.begin(), part.end());
  }
  if (is_write(op.kind)) op.remote = draws_.below(kWindow - op.length + 1);
}

void RandomRequests::take_target(End& end, Operation& op) {
  std::uint32_t offset = kTargets + end.answered++ % kTargetSlots * kMaxLength;
  std::vector<std::uint32_t> cuts = is_atomic(op.kind) ? std::vector{op.length} : cut(op.length);
  for (const std::uint32_t bytes : cuts) {
    op.pieces.push_back({offset, bytes});
    offset += bytes;
  }
  // Their order in memory is not that of the message.
  if (draws_.chance(2)) std::reverse(op.pieces.begin(), op.pieces.end());
}

void RandomRequests::make_read(End& end, Operation& op) {
  op.remote = draws_.below(kWindow - op.length + 1);
  take_target(end, op);
}

void RandomRequests::make_atomic(End& end, Operation& op) {
  take_target(end, op);
  op.shared = op.kind == kFetchAdd && draws_.chance(3);
  if (op.shared) {
    op.remote = kShared;
    op.swap_or_add = 1;
    return;
  }
  op.remote = kCounters + 8 * draws_.below(kCounterCount);
  op.swap_or_add = draws_.next();
  // Every other compare-and-swap finds what it compares with.
  op.compare = draws_.chance(2) ? load_le64(end.reference.data() + op.remote) : draws_.next();
}

}  // namespace rnicsim::stress
