// SPDX-License-Identifier: MIT
#include "model/verbs_types.h"

namespace rnicsim {

const char* name_of(QpState state) {
  switch (state) {
    case QpState::kReset:
      return "RESET";
    case QpState::kInit:
      return "INIT";
    case QpState::kRtr:
      return "RTR";
    case QpState::kRts:
      return "RTS";
    case QpState::kSqd:
      return "SQD";
    case QpState::kSqe:
      return "SQE";
    case QpState::kErr:
      return "ERR";
  }
  return "?";
}

bool may_modify(QpState from, QpState to) {
  if (to == QpState::kReset || to == QpState::kErr) return true;
  switch (from) {
    case QpState::kReset:
      return to == QpState::kInit;
    case QpState::kInit:
      return to == QpState::kInit || to == QpState::kRtr;
    case QpState::kRtr:
      return to == QpState::kRts;
    case QpState::kRts:
      return to == QpState::kRts || to == QpState::kSqd;
    case QpState::kSqd:
      return to == QpState::kRts || to == QpState::kSqd;
    case QpState::kSqe:
      return to == QpState::kRts;
    case QpState::kErr:
      return false;
  }
  return false;
}

const char* name_of(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kSuccess:
      return "success";
    case CompletionStatus::kLocalLengthError:
      return "local length error";
    case CompletionStatus::kLocalQpOperationError:
      return "local QP operation error";
    case CompletionStatus::kLocalProtectionError:
      return "local protection error";
    case CompletionStatus::kFlushed:
      return "work request flushed";
    case CompletionStatus::kMemoryWindowBindError:
      return "memory window bind error";
    case CompletionStatus::kBadResponse:
      return "bad response";
    case CompletionStatus::kLocalAccessError:
      return "local access error";
    case CompletionStatus::kRemoteInvalidRequest:
      return "remote invalid request error";
    case CompletionStatus::kRemoteAccessError:
      return "remote access error";
    case CompletionStatus::kRemoteOperationError:
      return "remote operation error";
    case CompletionStatus::kRetryExceeded:
      return "transport retry counter exceeded";
    case CompletionStatus::kRnrRetryExceeded:
      return "RNR retry counter exceeded";
  }
  return "?";
}

const char* name_of(KeyFault fault) {
  switch (fault) {
    case KeyFault::kNone:
      return "none";
    case KeyFault::kUnknownKey:
      return "key never issued";
    case KeyFault::kStaleKey:
      return "stale key of a deregistered region";
    case KeyFault::kWrongPd:
      return "key of another protection domain";
    case KeyFault::kOutOfBounds:
      return "address range outside the region";
    case KeyFault::kNoAccessRight:
      return "no access right";
    case KeyFault::kNotPresent:
      return "page not present in the translation table";
  }
  return "?";
}

}  // namespace rnicsim
