// SPDX-License-Identifier: MIT
#include "scenarios/engine/workload_checks.h"

#include "model/headers.h"
#include "model/json_path.h"
#include "model/nic_abi.h"
#include "model/packet.h"
#include "model/quantity.h"
#include "scenarios/engine/perftest_plan.h"
#include "scenarios/engine/scenario_checks.h"

namespace rnicsim {
namespace {

constexpr std::uint32_t kTries = 64;
constexpr std::uint32_t kTargetRegions = 16;

/// The largest frame around a payload of the path MTU.
Bytes header_bytes(Operation operation, WorkloadTransport transport, const FabricSpec& fabric) {
  std::size_t bytes = link_header_bytes(fabric.link_layer).count() +
                      network_header_bytes(fabric.link_layer, fabric.ip_version) + Bth::kBytes +
                      kIcrcBytes.count();
  if (operation == Operation::kWrite || operation == Operation::kWriteImm) bytes += Reth::kBytes;
  if (operation == Operation::kRead) bytes += Aeth::kBytes;
  if (operation == Operation::kWriteImm || operation == Operation::kSendImm) bytes += ImmDt::kBytes;
  if (operation == Operation::kSendInvalidate) bytes += Ieth::kBytes;
  if (transport == WorkloadTransport::kUd) bytes += Deth::kBytes;
  return Bytes(bytes);
}

/// A WQE that has room for nothing else beside the segments that its operation needs.
Bytes max_inline(Operation operation, WorkloadTransport transport) {
  std::uint32_t others = abi::kSegmentBytes + abi::InlineSegment::kHeaderBytes;
  if (has_remote_address(operation)) others += abi::kSegmentBytes;
  if (transport == WorkloadTransport::kUd) others += abi::DatagramSegment::kBytes;
  return Bytes(abi::kMaxWqeBytes - others);
}

bool transport_has(WorkloadTransport transport, Operation operation) {
  switch (transport) {
    case WorkloadTransport::kRc:
      return true;
    case WorkloadTransport::kUc:
      return !brings_data(operation) && operation != Operation::kSendInvalidate;
    case WorkloadTransport::kUd:
    case WorkloadTransport::kTcp:
      break;
  }
  return operation == Operation::kSend || operation == Operation::kSendImm;
}

class WorkloadChecker {
 public:
  WorkloadChecker(const JsonNode& document, const std::string& path, WorkloadSpec& workload)
      : document_(document), path_(path), w_(workload) {}

  void run(const FabricSpec& fabric, Bytes added) {
    if (w_.is_over_tcp()) return tcp(fabric);
    require(!w_.tcp, "tcp", "belongs to transport \"tcp\"");
    check_control(fabric);
    require(!is_of_sockets(w_.test), "test",
            in_quotes(name_of(w_.test)) + " runs over transport \"tcp\"");
    if (is_of_flows(w_.pattern))
      flows();
    else if (w_.pattern == WorkloadPattern::kPerftest)
      perftest();
    else if (w_.pattern == WorkloadPattern::kRkeyGuessing)
      rkey_guessing();
    else if (w_.pattern == WorkloadPattern::kRegistration)
      return registration();  // sends nothing
    else
      pairs();
    const Operation operation = w_.pattern == WorkloadPattern::kPerftest ? operation_of(w_.test)
                                : w_.pattern == WorkloadPattern::kRkeyGuessing ? Operation::kRead
                                                                               : w_.operation;
    const Bytes headers = header_bytes(operation, w_.transport, fabric) + added;
    const Bytes mtu = fabric.smallest_mtu();
    if (w_.path_mtu + headers > mtu)
      fail("path_mtu", to_text(w_.path_mtu) + " of payload and " + to_text(headers) +
                           " of headers do not fit fabric.link.mtu, " + to_text(mtu));
  }

 private:
  [[noreturn]] void fail(const char* key, std::string problem) const {
    fail_check(document_, path_ + '.' + key, std::move(problem));
  }
  void require(bool holds, const char* key, const std::string& problem) const {
    if (!holds) fail(key, problem);
  }

  void check_control(const FabricSpec& fabric) const {
    if (w_.control != ControlKind::kTcp) return;
    require(w_.pattern == WorkloadPattern::kPairs || w_.pattern == WorkloadPattern::kPerftest ||
                w_.pattern == WorkloadPattern::kRkeyGuessing,
            "control",
            "\"tcp\" belongs to the patterns \"pairs\", \"perftest\" and \"rkey_guessing\"");
    require(fabric.link_layer != LinkLayer::kInfiniBand, "control",
            "\"tcp\" needs Ethernet, and fabric.link_layer is \"infiniband\"");
    for (const JsonNode& member : nearest_node(document_, path_).children())
      require(member.key() != "control_latency", "control_latency",
              "belongs to control \"fixed\"; that of \"tcp\" is a result");
  }

  void refuse_keys_of_perftest() const {
    static constexpr const char* kPerftest = "belongs to the pattern \"perftest\"";
    require(w_.test == PerftestProgram::kNone, "test", kPerftest);
    require(w_.sizes_rule == nullptr, "sizes", kPerftest);
    require(!w_.tx_depth, "tx_depth", kPerftest);
    require(!w_.cq_moderation, "cq_moderation", kPerftest);
    require(!w_.inline_size, "inline_size", kPerftest);
    require(!w_.iterations, "iterations", kPerftest);
    require(!w_.bidirectional, "bidirectional", kPerftest);
  }

  void refuse_keys_of_rkey_guessing() const {
    static constexpr const char* kGuessing = "belongs to the pattern \"rkey_guessing\"";
    require(!w_.tries, "tries", kGuessing);
    require(!w_.target_regions, "target_regions", kGuessing);
  }

  void refuse_keys_of_flows() const {
    static constexpr const char* kFlows = "belongs to the patterns of flows, such as \"incast\"";
    require(!w_.in_flight, "in_flight", kFlows);
    require(!w_.message_size, "message_size", kFlows);
    require(!w_.cdf, "cdf", kFlows);
    require(!w_.load, "load", "belongs to the pattern \"poisson\"");
    require(!w_.duration, "duration", "belongs to the pattern \"poisson\"");
    require(!w_.file, "file", "belongs to the pattern \"flow_file\"");
    require(!w_.think_time, "think_time", kFlows);
    require(w_.nic_choice == NicChoice::kFirst, "nic_choice", kFlows);
    require(w_.flows.empty(), "flows", "belongs to the pattern \"flow_list\"");
  }

  void flows() const {
    refuse_keys_of_perftest();
    refuse_keys_of_rkey_guessing();
    refuse_keys_of_pairs_alone();
    refuse_memories();
    require(w_.transport == WorkloadTransport::kRc, "transport", "flows go over \"rc\"");
    const bool possible = w_.operation == Operation::kWrite || w_.operation == Operation::kRead ||
                          w_.operation == Operation::kSend;
    require(possible, "operation", "flows are of \"write\", \"read\" or \"send\"");
    require(w_.queue_pairs == 1, "queue_pairs", "a pair of hosts has one queue pair");
    require(!w_.receive_depth || takes_receive(w_.operation), "receive_depth",
            in_quotes(name_of(w_.operation)) + " takes no receives");
  }

  void pairs() {
    refuse_keys_of_flows();
    refuse_keys_of_perftest();
    refuse_keys_of_rkey_guessing();
    require(transport_has(w_.transport, w_.operation), "operation",
            in_quotes(name_of(w_.operation)) + " is no operation of transport " +
                in_quotes(name_of(w_.transport)));
    check_sizes();
    check_receives();
    check_remote_memory();
    check_target_fault();
    check_windows();
    check_lists();
    check_regions();
    interpret_inline();
    check_memory_path();
  }

  void check_memory_path() const {
    check_on_demand();
    require(!w_.gpu_of(w_.from) || w_.inline_up_to == Bytes(0), "inline",
            "the CPU would have to read what stands in a GPU's memory; leave it out");
    if (w_.path == GpuPath::kDirect) return;
    require(w_.gpu_of(w_.from) || w_.gpu_of(w_.to), "path",
            "needs a GPU's memory; without one leave it out");
    require(has_one_way_data(w_.operation), "path",
            "other than \"direct\" it is for \"write\", \"write_imm\", \"send\" and \"send_imm\"");
    require(!w_.gpu_of(w_.to) || takes_receive(w_.operation), "path",
            "`to` can copy into its GPU only what it is told of: \"write_imm\", \"send\" or "
            "\"send_imm\"");
  }

  void check_on_demand() const {
    if (w_.on_demand == OnDemand::kNone) return;
    require(!handles_windows(), "on_demand", "this NIC binds no windows to such regions");
    for (const std::string& host : {w_.from, w_.to})
      require(!w_.pages_on_demand(host) || !w_.gpu_of(host) || w_.path != GpuPath::kDirect,
              "on_demand", "a GPU's memory is pinned");
  }

  static bool has_one_way_data(Operation operation) {
    return operation == Operation::kWrite || operation == Operation::kWriteImm ||
           operation == Operation::kSend || operation == Operation::kSendImm;
  }

  void check_sizes() const {
    if (is_atomic(w_.operation)) {
      require(w_.size == kAtomicBytes, "size",
              "an atomic operates on 8 B, found " + to_text(w_.size));
      require(w_.local_offset == OffsetPattern::kFixed, "local_offset",
              "what atomics bring goes to places in turn; leave it out");
    }
    if (w_.transport == WorkloadTransport::kUd)
      require(w_.size <= w_.path_mtu, "size",
              "a datagram is one packet: " + to_text(w_.size) + " do not fit path_mtu, " +
                  to_text(w_.path_mtu));
    require(!w_.region || *w_.region >= w_.step(), "region",
            "must hold at least one message and the " + to_text(kGrhBytes) + " before it");
  }

  bool handles_windows() const {
    return w_.operation == Operation::kSendInvalidate || is_local(w_.operation);
  }

  void check_lists() const {
    require(w_.post_list == 1 || !handles_windows(), "post_list",
            "keys of windows are known one message at a time");
    require(w_.post_list <= w_.queue_depth, "post_list", "must not exceed queue_depth");
  }

  void check_regions() const {
    require(!w_.spacing || has_remote_address(w_.operation), "spacing",
            "belongs to operations that name memory of `to`");
    require(!w_.inline_receive || is_send(w_.operation), "inline_receive",
            "belongs to operations that bring data to a receive");
    if (w_.regions == 1) return;
    require(!handles_windows(), "regions", "windows belong to one region");
    require(w_.fault == AccessFault::kNone && w_.local_fault == LocalFault::kNone &&
                w_.receive_fault == LocalFault::kNone && w_.target_fault == TargetFault::kNone,
            "regions", "falsified accesses are to one region");
    require(w_.step() != Bytes(0) && w_.region_size().count() / w_.step().count() >= w_.regions,
            "regions", "each must hold at least one message");
  }

  void check_receives() const {
    static constexpr const char* kNone = "belongs to operations that take receives";
    require(takes_receive(w_.operation) || !w_.receive_depth, "receive_depth", kNone);
    require(takes_receive(w_.operation) || w_.receiver_delay == Time(), "receiver_delay", kNone);
    require(!is_send(w_.operation) || w_.remote_offset != OffsetPattern::kRandom, "remote_offset",
            "receives are taken in order: fixed or sequential");
  }

  void check_remote_memory() const {
    if (w_.operation != Operation::kWrite && w_.operation != Operation::kWriteImm)
      require(w_.remote_write, "remote_write", "belongs to WRITEs");
    if (!has_remote_address(w_.operation))
      require(w_.fault == AccessFault::kNone || w_.fault == AccessFault::kSilent, "fault",
              in_quotes(name_of(w_.operation)) +
                  " names no memory that could be falsified; only \"silent\" is possible");
  }

  void check_target_fault() const {
    const bool receives = takes_receive(w_.operation);
    require(receives || w_.receiver_polls, "receiver_polls",
            "belongs to operations that take receives");
    require(is_send(w_.operation) || w_.receive_fault == LocalFault::kNone, "receive_fault",
            "belongs to SENDs: nothing else comes into the buffer of a receive");
    require(w_.target_fault != TargetFault::kNone || w_.target_fault_after == Time(),
            "target_fault_after", "belongs to a target_fault");
    const bool forgets =
        w_.target_fault == TargetFault::kQpReset || w_.target_fault == TargetFault::kQpDestroy;
    require(!receives || !forgets, "target_fault",
            "a queue pair with receives must be emptied first: \"qp_error\"");
  }

  void check_windows() const {
    if (w_.operation != Operation::kSendInvalidate) return;
    require(w_.receiver_polls, "receiver_polls",
            "send_invalidate: the receiver binds windows for what comes next");
    require(w_.target_fault == TargetFault::kNone, "target_fault",
            "send_invalidate: the target's queue pairs bind windows");
  }

  void interpret_inline() {
    if (w_.inline_rule == nullptr) return;
    const JsonNode& rule = *w_.inline_rule;
    const Bytes most = max_inline(w_.operation, w_.transport);
    if (rule.is_string()) {
      ScalarLimits limits = limits_for<Bytes>(range(Bytes(0), most));
      read_scalar(rule, path_ + ".inline", limits, &w_.inline_up_to);
    } else if (rule.text() == "true") {
      if (w_.size > most)
        fail("inline", "a message of " + to_text(w_.size) + " does not fit into a WQE, which " +
                           "holds at most " + to_text(most));
      w_.inline_up_to = most;
    }
    if (brings_data(w_.operation) || is_local(w_.operation))
      require(w_.inline_up_to == Bytes(0), "inline",
              in_quotes(name_of(w_.operation)) + " has no data to send");
  }

  void tcp(const FabricSpec& fabric) {
    const bool perftest = w_.pattern == WorkloadPattern::kPerftest;
    require(perftest || w_.pattern == WorkloadPattern::kPairs, "transport",
            "\"tcp\" belongs to the patterns \"pairs\" and \"perftest\"");
    require(fabric.link_layer != LinkLayer::kInfiniBand, "transport",
            "\"tcp\" needs Ethernet, and fabric.link_layer is \"infiniband\"");
    std::vector<std::string> keys{"name", "pattern", "transport",   "from",
                                  "to",   "start",   "queue_pairs", "tcp"};
    const std::vector<std::string> of_pattern =
        perftest ? std::vector<std::string>{"test", "sizes", "iterations"}
                 : std::vector<std::string>{"size", "count", "warm_up", "region"};
    keys.insert(keys.end(), of_pattern.begin(), of_pattern.end());
    refuse_keys_but(document_, path_, keys,
                    "the pattern " + in_quotes(name_of(w_.pattern)) + " over TCP");
    if (!w_.tcp) w_.tcp.emplace();
    if (perftest) return perftest_of_sockets();
    require(w_.size != Bytes(0), "size", "a message over TCP has at least one byte");
    require(w_.tcp->response == Bytes(0) || !w_.tcp->receive_size, "tcp.receive_size",
            "belongs to streams: a message that is answered is received whole");
  }

  void perftest_of_sockets() {
    require(is_of_sockets(w_.test), "test", "over TCP it is \"tcp_bw\" or \"tcp_lat\"");
    require(w_.tcp->response == Bytes(0), "tcp.response", "belongs to the pattern \"pairs\"");
    const bool latency = measures_latency(w_.test);
    require(!latency || !w_.tcp->receive_size, "tcp.receive_size", "belongs to \"tcp_bw\"");
    require(!latency || w_.queue_pairs == 1, "queue_pairs",
            "a program that measures latency has one connection");
    interpret_sizes(Operation::kSend);
  }

  /// A key of the other pattern changes nothing here and so must not be given.
  void perftest() {
    require(w_.test != PerftestProgram::kNone, "test",
            "the pattern \"perftest\" needs the name of a program, such as \"ib_write_bw\"");
    refuse_keys_of_pairs();
    refuse_keys_of_flows();
    refuse_keys_of_rkey_guessing();
    check_on_demand();
    const Operation operation = operation_of(w_.test);
    require(
        transport_has(w_.transport, operation), "transport",
        std::string(name_of(w_.test)) + " does not run over " + in_quotes(name_of(w_.transport)));
    const bool latency = measures_latency(w_.test);
    static constexpr const char* kBandwidth = "belongs to programs that measure bandwidth";
    require(!latency || !w_.tx_depth, "tx_depth", kBandwidth);
    require(!latency || !w_.cq_moderation, "cq_moderation", kBandwidth);
    require(!latency || !w_.bidirectional, "bidirectional", kBandwidth);
    require(!latency || w_.queue_pairs == 1, "queue_pairs",
            "a program that measures latency has one queue pair");
    require(is_send(operation) || !w_.receive_depth, "receive_depth",
            "belongs to ib_send_bw and ib_send_lat");
    require(!brings_data(operation) || w_.inline_size.value_or(Bytes(0)) == Bytes(0), "inline_size",
            "READs and atomics have no data to send");
    require(w_.inline_size.value_or(Bytes(0)) <= max_inline(operation, w_.transport), "inline_size",
            "a WQE holds at most " + to_text(max_inline(operation, w_.transport)));
    check_perftest_memory();
    interpret_sizes(operation);
  }

  /// A program that looks at the last byte, or puts its message into the WQE, has the CPU read it.
  void check_perftest_memory() const {
    if (!w_.gpu_of(w_.from) && !w_.gpu_of(w_.to)) return;
    require(w_.test != PerftestProgram::kWriteLat && w_.test != PerftestProgram::kSendLat, "test",
            "the CPU would have to read what stands in a GPU's memory; programs that can do "
            "without measure bandwidth, or the latency of READs and atomics");
    require(w_.inline_size.value_or(Bytes(0)) == Bytes(0), "inline_size",
            "the CPU would have to read what stands in a GPU's memory; leave it out");
  }

  void rkey_guessing() {
    refuse_keys_of_pairs();
    refuse_memories();
    refuse_keys_of_flows();
    refuse_keys_of_perftest();
    require(w_.transport == WorkloadTransport::kRc, "transport", "READs need \"rc\"");
    require(w_.queue_pairs == 1, "queue_pairs", "the attacker has one queue pair");
    require(!w_.receive_depth, "receive_depth", "READs take no receives");
    w_.tries = w_.tries.value_or(kTries);
    w_.target_regions = w_.target_regions.value_or(kTargetRegions);
  }

  void registration() const {
    refuse_keys_but(document_, path_, {"name", "pattern", "from", "start", "size", "count"},
                    "the pattern \"registration\"");
    require(w_.size != Bytes(0), "size", "a region of 0 B cannot be registered");
  }

  void refuse_pair_key(bool untouched, const char* key) const {
    require(untouched, key, "belongs to the pattern \"pairs\"");
  }

  void refuse_memories() const {
    static constexpr const char* kRegions = "belongs to the patterns \"pairs\" and \"perftest\"";
    require(!w_.memory, "memory", kRegions);
    require(!w_.from_memory, "from_memory", kRegions);
    require(!w_.to_memory, "to_memory", kRegions);
    require(w_.on_demand == OnDemand::kNone, "on_demand", kRegions);
  }

  void refuse_keys_of_pairs() const {
    const WorkloadSpec untouched;
    refuse_keys_of_pairs_alone();
    refuse_pair_key(w_.operation == untouched.operation, "operation");
    refuse_pair_key(w_.size == untouched.size, "size");
    refuse_pair_key(w_.count == untouched.count, "count");
    refuse_pair_key(w_.queue_depth == untouched.queue_depth, "queue_depth");
    refuse_pair_key(!w_.region, "region");
    refuse_pair_key(w_.completion == untouched.completion, "completion");
  }

  /// Those that flows do not have either.
  void refuse_keys_of_pairs_alone() const {
    const WorkloadSpec untouched;
    refuse_pair_key(w_.warm_up == untouched.warm_up, "warm_up");
    refuse_pair_key(w_.signal_every == untouched.signal_every, "signal_every");
    refuse_pair_key(w_.post_list == untouched.post_list, "post_list");
    refuse_pair_key(w_.regions == untouched.regions, "regions");
    refuse_pair_key(!w_.spacing, "spacing");
    refuse_pair_key(w_.inline_receive == untouched.inline_receive, "inline_receive");
    refuse_pair_key(w_.inline_rule == nullptr, "inline");
    refuse_pair_key(w_.remote_offset == untouched.remote_offset, "remote_offset");
    refuse_pair_key(w_.local_offset == untouched.local_offset, "local_offset");
    refuse_pair_key(w_.path == untouched.path, "path");
    refuse_pair_key(w_.fence == untouched.fence, "fence");
    refuse_pair_key(w_.receiver_delay == untouched.receiver_delay, "receiver_delay");
    refuse_pair_key(w_.remote_write == untouched.remote_write, "remote_write");
    refuse_pair_key(w_.fault == untouched.fault, "fault");
    refuse_pair_key(w_.local_fault == untouched.local_fault, "local_fault");
    refuse_pair_key(w_.receive_fault == untouched.receive_fault, "receive_fault");
    refuse_pair_key(w_.target_fault == untouched.target_fault, "target_fault");
    refuse_pair_key(w_.target_fault_after == untouched.target_fault_after, "target_fault_after");
    refuse_pair_key(!w_.cq_entries, "cq_entries");
    refuse_pair_key(w_.receiver_polls == untouched.receiver_polls, "receiver_polls");
  }

  void interpret_sizes(Operation operation) {
    const Bytes most = w_.transport == WorkloadTransport::kUd ? w_.path_mtu : Bytes(1ULL << 23);
    w_.sizes.clear();
    if (w_.sizes_rule == nullptr) {
      w_.sizes.push_back(std::min(default_perftest_size(w_.test), most));
    } else if (w_.sizes_rule->is_string() && w_.sizes_rule->text() == "all") {
      w_.sizes = is_atomic(operation) ? std::vector<Bytes>{kAtomicBytes} : all_perftest_sizes(most);
    } else if (w_.sizes_rule->is_string()) {
      add_size(*w_.sizes_rule, path_ + ".sizes", most);
    } else {
      for (std::size_t i = 0; i < w_.sizes_rule->children().size(); ++i)
        add_size(w_.sizes_rule->children()[i], path_ + ".sizes." + std::to_string(i), most);
    }
    require(!w_.sizes.empty(), "sizes", "an empty list");
    if (is_atomic(operation))
      require(w_.sizes == std::vector<Bytes>{kAtomicBytes}, "sizes", "an atomic operates on 8 B");
  }

  /// Each once: a size names its results.
  void add_size(const JsonNode& node, const std::string& path, Bytes most) {
    Bytes size;
    read_scalar(node, path, limits_for<Bytes>(range(Bytes(1), most)), &size);
    for (const Bytes known : w_.sizes)
      if (known == size) fail_check(document_, path, to_text(size) + " stands in the list twice");
    w_.sizes.push_back(size);
  }

  const JsonNode& document_;
  const std::string& path_;
  WorkloadSpec& w_;
};

}  // namespace

void check_workload(const JsonNode& document, const std::string& path, WorkloadSpec& workload,
                    const FabricSpec& fabric, Bytes added) {
  WorkloadChecker(document, path, workload).run(fabric, added);
}

}  // namespace rnicsim
