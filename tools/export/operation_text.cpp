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

std::string english_deed(const WorkloadSpec& w) {
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

std::string japanese_flows(const WorkloadSpec& w) {
  if (w.file) return fmt::format("{} のフロー", *w.file);
  const std::string size = w.cdf ? fmt::format("サイズは {} の分布", *w.cdf)
                                 : fmt::format("各フロー {}", short_text(w.size));
  if (w.pattern == WorkloadPattern::kPoisson)
    return fmt::format("ランダムに到着するフロー、リンクの {}、{}", *w.load, size);
  const std::string operation = w.operation == Operation::kWrite  ? ""
                                : w.operation == Operation::kRead ? "、READ による"
                                                                  : "、SEND による";
  if (w.pattern == WorkloadPattern::kFlowList)
    return fmt::format("{} フローの一覧{}", w.flows.size(), operation);
  const char* name = w.pattern == WorkloadPattern::kAllToAll     ? "全対全"
                     : w.pattern == WorkloadPattern::kClosedLoop ? "クローズドループ"
                                                                 : name_of(w.pattern);
  return fmt::format("{}、{}{}", name, size, operation);
}

/// In the order of Operation.
constexpr const char* kJapaneseDeeds[] = {
    "{from} が {to} へ {size} を書き込む",
    "{from} が {to} へ {size} を即値つきで書き込む",
    "{from} が {to} から {size} を読み出す",
    "{from} が {to} へ {size} を送る",
    "{from} が {to} へ {size} を即値つきで送る",
    "{from} が {to} へ {size} を送り、鍵を一つ無効化する",
    "{from} が {to} の {size} を compare-and-swap する",
    "{from} が {to} の {size} を fetch-and-add する",
    "{from} が {size} のウィンドウを割り当て、解除する",
};

std::string japanese_deed(const WorkloadSpec& w) {
  if (is_of_flows(w.pattern)) return japanese_flows(w);
  if (w.pattern == WorkloadPattern::kPerftest)
    return fmt::format("{} が {} と{} {} を実行する", w.from, w.to,
                       w.bidirectional ? "双方向で" : "の間で", name_of(w.test));
  if (w.pattern == WorkloadPattern::kPcieBench)
    return fmt::format("{} の測定器が PCIe リンクを測る", w.from);
  if (w.pattern == WorkloadPattern::kRkeyGuessing)
    return fmt::format("{} が {} の鍵を推測する", w.from, w.to);
  const std::string size = short_text(w.size);
  if (w.pattern == WorkloadPattern::kRegistration)
    return fmt::format("{} が {} を登録する", w.from, size);
  if (!w.is_over_tcp())
    return fmt::format(fmt::runtime(kJapaneseDeeds[static_cast<std::size_t>(w.operation)]),
                       fmt::arg("from", w.from), fmt::arg("to", w.to), fmt::arg("size", size));
  const std::string deed = fmt::format("{} が {} へ TCP で {} を送る", w.from, w.to, size);
  return w.tcp->response == Bytes(0)
             ? deed
             : fmt::format("{}（応答 {}）", deed, short_text(w.tcp->response));
}

}  // namespace

std::string deed_text(const WorkloadSpec& w, Language language) {
  return language == Language::kJapanese ? japanese_deed(w) : english_deed(w);
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
