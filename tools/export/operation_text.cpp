// SPDX-License-Identifier: MIT
#include "tools/export/operation_text.h"

#include <fmt/format.h>

#include "scenarios/engine/perftest_plan.h"
#include "tools/export/value_text.h"

namespace rnicsim {

Operation operation_in(const WorkloadSpec& workload) {
  if (workload.pattern == WorkloadPattern::kRkeyGuessing) return Operation::kRead;
  return workload.pattern == WorkloadPattern::kPerftest ? operation_of(workload.test)
                                                        : workload.operation;
}

namespace {

std::string flows_text(const WorkloadSpec& w) {
  if (w.file) return fmt::format("flows of {}", *w.file);
  const std::string size = w.cdf ? "sizes of " + *w.cdf : short_text(w.size);
  if (w.pattern == WorkloadPattern::kPoisson)
    return fmt::format("flows at random, {} of the link, {}", *w.load, size);
  const std::string operation = w.operation == Operation::kWrite  ? ""
                                : w.operation == Operation::kRead ? ", by READs"
                                                                  : ", by SENDs";
  if (w.pattern == WorkloadPattern::kFlowList)
    return fmt::format("a list of {} {}{}", w.flows.size(), w.flows.size() == 1 ? "flow" : "flows",
                       operation);
  const char* name = w.pattern == WorkloadPattern::kAllToAll     ? "all to all"
                     : w.pattern == WorkloadPattern::kClosedLoop ? "closed loop"
                                                                 : name_of(w.pattern);
  return fmt::format("{}, {}{}{}", name, size, w.cdf ? "" : " a flow", operation);
}

}  // namespace

std::string deed_text(const WorkloadSpec& w) {
  if (is_of_flows(w.pattern)) return flows_text(w);
  if (w.pattern == WorkloadPattern::kPerftest)
    return fmt::format("{} runs {} {} {}", w.from, name_of(w.test),
                       w.bidirectional ? "in both directions with" : "against", w.to);
  if (w.pattern == WorkloadPattern::kPcieBench)
    return fmt::format("the exerciser of {} measures its PCIe link", w.from);
  if (w.pattern == WorkloadPattern::kRkeyGuessing)
    return fmt::format("{} guesses a key of {}", w.from, w.to);
  if (w.pattern == WorkloadPattern::kRegistration)
    return fmt::format("{} registers {}", w.from, short_text(w.size));
  const std::string size = short_text(w.size);
  if (w.is_over_tcp()) {
    const std::string deed = fmt::format("{} sends {} to {} over TCP", w.from, size, w.to);
    return w.tcp->response == Bytes(0)
               ? deed
               : fmt::format("{} and gets {} back", deed, short_text(w.tcp->response));
  }
  switch (w.operation) {
    case Operation::kWrite:
      return fmt::format("{} writes {} to {}", w.from, size, w.to);
    case Operation::kWriteImm:
      return fmt::format("{} writes {} with immediate to {}", w.from, size, w.to);
    case Operation::kRead:
      return fmt::format("{} reads {} from {}", w.from, size, w.to);
    case Operation::kSend:
      return fmt::format("{} sends {} to {}", w.from, size, w.to);
    case Operation::kSendImm:
      return fmt::format("{} sends {} with immediate to {}", w.from, size, w.to);
    case Operation::kSendInvalidate:
      return fmt::format("{} sends {} to {} and takes a key away", w.from, size, w.to);
    case Operation::kCompareSwap:
      return fmt::format("{} compares and swaps {} of {}", w.from, size, w.to);
    case Operation::kBindWindow:
      return fmt::format("{} binds a window of {} and frees it", w.from, size);
    case Operation::kFetchAdd:
      break;
  }
  return fmt::format("{} fetches and adds to {} of {}", w.from, size, w.to);
}

std::string handed_over_text(const WorkloadSpec& workload) {
  const Operation operation = operation_in(workload);
  if (is_local(operation)) return "its queue pair's number";
  if (operation == Operation::kSendInvalidate)
    return "which queue pairs it may send to, and keys of memory windows";
  if (is_send(operation)) return "which queue pairs it may send to";
  const char* verb = operation == Operation::kRead ? "read"
                     : is_atomic(operation)        ? "operate"
                                                   : "write";
  return fmt::format("where it may {}: address, length and rkey", verb);
}

}  // namespace rnicsim
