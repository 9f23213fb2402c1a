// SPDX-License-Identifier: MIT
#include "nic/remote_invalidation.h"

#include "nic/completer.h"
#include "nic/request_check.h"

namespace rnicsim {

/// A SEND that takes a key away from the queue pair is under way.
bool RemoteInvalidation::takes_key_before(const InboundRequest& next) const {
  for (std::size_t i = 0; i < w_.requests.size(); ++i)
    if (w_.requests.at(i).invalidates && w_.requests.at(i).qpn() == next.qpn()) return true;
  return false;
}

/// The SEND's data are there: its key goes, before its receive completes. False: not yet.
bool RemoteInvalidation::invalidate(InboundRequest& request) {
  if (request.invalidating) return false;
  if (request.verdict != Verdict::kTake) {
    request.invalidates = false;
    --expected_;
    return true;
  }
  const Qpn qpn = request.qpn();
  const abi::QpContext* context = w_.contexts.lookup(qpn.value(), w_.drain);
  if (context == nullptr) return false;
  request.invalidating = true;
  KeyOperations::Operation operation;
  operation.kind = KeyOperations::Kind::kRemoteInvalidate;
  operation.key = request.packet->ieth.r_key;
  operation.pd = context->pd;
  operation.qpn = qpn;
  operation.work_request = request.packet->work_request;
  w_.key_operations.submit(operation, call<&RemoteInvalidation::ended>(this));
  return false;
}

/// The oldest packet's key has gone, or may not.
void RemoteInvalidation::ended() {
  InboundRequest& front = w_.requests.front();
  front.invalidates = front.invalidating = false;
  --expected_;
  front.class_j = w_.key_operations.fault() != KeyOperations::Fault::kNone;
  w_.drain();
  w_.judge();
}

/// False: the context has to be fetched first.
bool RemoteInvalidation::fail(InboundRequest& request) {
  const Qpn qpn = request.qpn();
  abi::QpContext* context = w_.contexts.lookup(qpn.value(), w_.drain);
  if (context == nullptr) return false;
  request.class_j = false;
  request.cqe.opcode = abi::CqeOpcode::kResponseError;
  request.cqe.status = CompletionStatus::kRemoteInvalidRequest;
  if (receives(context->state))
    completer_->enter_error(w_.qps.at(qpn), *context, CompletionStatus::kRemoteInvalidRequest);
  return true;
}

}  // namespace rnicsim
