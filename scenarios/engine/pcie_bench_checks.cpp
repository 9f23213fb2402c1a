// SPDX-License-Identifier: MIT
#include "scenarios/engine/pcie_bench_checks.h"

#include <algorithm>
#include <utility>

#include "host/mmio_bridge.h"
#include "model/config_scalar.h"
#include "model/json_path.h"
#include "model/quantity.h"
#include "scenarios/engine/pcie_bench_workload.h"
#include "scenarios/engine/scenario_checks.h"

namespace rnicsim {
namespace {

constexpr PcieBenchOperation kOperations[] = {PcieBenchOperation::kRead,
                                              PcieBenchOperation::kWrite,
                                              PcieBenchOperation::kReadWrite,
                                              PcieBenchOperation::kLatencyRead,
                                              PcieBenchOperation::kLatencyWriteRead,
                                              PcieBenchOperation::kLatencyStore,
                                              PcieBenchOperation::kNicTx,
                                              PcieBenchOperation::kNicRx,
                                              PcieBenchOperation::kNicBidirectional};

class PcieBenchChecker {
 public:
  PcieBenchChecker(const JsonNode& document, std::string path, PcieBenchSpec& spec)
      : document_(document), path_(std::move(path)), spec_(spec) {}

  void run(const HostSpec& host) {
    spec_.operations.clear();
    for_each(spec_.operations_rule, "operations", [&](const JsonNode& node, const std::string& at) {
      add(spec_.operations, operation(node, at), at);
    });
    if (spec_.operations.empty()) spec_.operations = {PcieBenchOperation::kRead};
    read_bytes(spec_.sizes_rule, "sizes", range(Bytes(1), Bytes(4096)), spec_.sizes, Bytes(64));
    read_bytes(spec_.windows_rule, "windows", range(Bytes(64), Bytes(1ULL << 30)), spec_.windows,
               Bytes(8192));
    const Bytes largest = *std::max_element(spec_.sizes.begin(), spec_.sizes.end());
    Bytes place;
    for (const PcieBenchOperation operation : spec_.operations)
      place = std::max(place, PcieBenchWorkload::place_of(operation, largest));
    const Bytes unit = PcieBenchPlaces::unit(place, spec_.offset);
    for (const Bytes window : spec_.windows)
      if (window < unit)
        fail("windows", to_text(window) + " do not hold a transfer of " + to_text(largest) +
                            " at this offset");
    check_rings(host);
    const Bytes request = host.config.pcie.max_read_request;
    const std::uint64_t tags = divide_up(largest, request) + (spec_.offset != Bytes() ? 1 : 0);
    if (std::min(host.exerciser->config.pcie.tags, host.config.pcie.max_tags()) < tags)
      fail("sizes", "a read of " + to_text(largest) + " needs " + std::to_string(tags) +
                        " tags, more than the exerciser has");
    const bool stores = std::find(spec_.operations.begin(), spec_.operations.end(),
                                  PcieBenchOperation::kLatencyStore) != spec_.operations.end();
    if (stores && largest.count() > MmioBridge::kMaxBytes)
      fail("sizes", "a store has at most 64 B");
    if (host.config.pcie_switch)
      fail_check(document_, path_.substr(0, path_.rfind('.')) + ".from",
                 "the exerciser of host \"" + host.name +
                     "\" has a root port of its own and stands under no pcie_switch");
    const bool latency =
        std::any_of(spec_.operations.begin(), spec_.operations.end(), [](PcieBenchOperation o) {
          return o == PcieBenchOperation::kLatencyRead ||
                 o == PcieBenchOperation::kLatencyWriteRead;
        });
    if (!spec_.engine && !latency) fail("engine", "belongs to operations that measure latency");
    if (host.config.memory.size < Bytes(8ULL << 30) &&
        host.config.memory.size < *std::max_element(spec_.windows.begin(), spec_.windows.end()) * 8)
      fail("windows", "the largest must not exceed an eighth of the host's memory");
  }

 private:
  void check_rings(const HostSpec& host) {
    if (std::none_of(spec_.operations.begin(), spec_.operations.end(), is_of_rings)) {
      if (spec_.rings) fail("rings", "belongs to the operations nic_tx, nic_rx, nic_bidirectional");
      return;
    }
    if (!spec_.rings) spec_.rings.emplace();
    const std::uint32_t most =
        std::max(spec_.rings->transmit.fetch_every, spec_.rings->receive.fetch_every);
    const std::uint64_t tags = divide_up(Bytes(most) * RingExerciser::kDescriptorBytes,
                                         host.config.pcie.max_read_request) +
                               1;
    if (std::min(host.exerciser->config.pcie.tags, host.config.pcie.max_tags()) < tags)
      fail("rings", "a fetch of " + std::to_string(most) + " descriptors needs " +
                        std::to_string(tags) + " tags, more than the exerciser has");
  }

  [[noreturn]] void fail(const char* key, std::string problem) const {
    fail_check(document_, path_ + '.' + key, std::move(problem));
  }

  /// One element may stand without a list.
  template <class Use>
  void for_each(const AnyJson& rule, const char* key, Use use) const {
    if (rule == nullptr) return;
    const std::string at = path_ + '.' + key;
    if (rule->is_string()) return use(*rule, at);
    if (rule->children().empty()) fail(key, "an empty list");
    for (std::size_t i = 0; i < rule->children().size(); ++i)
      use(rule->children()[i], at + '.' + std::to_string(i));
  }

  PcieBenchOperation operation(const JsonNode& node, const std::string& at) const {
    std::vector<std::string> names;
    for (const PcieBenchOperation known : kOperations) {
      names.emplace_back(name_of(known));
      if (node.is_string() && node.text() == names.back()) return known;
    }
    fail_check(document_, at, "must be " + one_of_text(names));
  }

  template <class L>
  void read_bytes(const AnyJson& rule, const char* key, const Limits<L>& limits,
                  std::vector<Bytes>& values, Bytes otherwise) const {
    values.clear();
    for_each(rule, key, [&](const JsonNode& node, const std::string& at) {
      Bytes value;
      read_scalar(node, at, limits_for<Bytes>(limits), &value);
      add(values, value, at);
    });
    if (values.empty()) values = {otherwise};
  }

  /// Each once: it names its results.
  template <class T>
  void add(std::vector<T>& values, T value, const std::string& at) const {
    if (std::find(values.begin(), values.end(), value) != values.end())
      fail_check(document_, at, "stands in the list twice");
    values.push_back(value);
  }

  const JsonNode& document_;
  std::string path_;
  PcieBenchSpec& spec_;
};

}  // namespace

void check_pcie_bench(const JsonNode& document, const std::string& path, WorkloadSpec& workload,
                      const HostSpec& host) {
  if (!host.exerciser)
    fail_check(document, path + ".from",
               "host \"" + host.name + "\" has no `exerciser`, which pcie_bench works with");
  refuse_keys_but(document, path, {"name", "pattern", "from", "start", "pcie_bench"},
                  "the pattern \"pcie_bench\"");
  if (!workload.pcie_bench) workload.pcie_bench.emplace();
  PcieBenchChecker(document, path + ".pcie_bench", *workload.pcie_bench).run(host);
}

}  // namespace rnicsim
