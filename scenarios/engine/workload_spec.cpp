// SPDX-License-Identifier: MIT
#include "scenarios/engine/workload_spec.h"

namespace rnicsim {

const char* name_of(WorkloadPattern pattern) {
  constexpr const char* kNames[] = {"pairs",      "perftest",    "rkey_guessing", "registration",
                                    "pcie_bench", "incast",      "permutation",   "all_to_all",
                                    "poisson",    "closed_loop", "flow_file",     "flow_list"};
  return kNames[static_cast<unsigned>(pattern)];
}

const char* name_of(WorkloadTransport transport) {
  constexpr const char* kNames[] = {"rc", "uc", "ud", "tcp"};
  return kNames[static_cast<unsigned>(transport)];
}

const char* name_of(PerftestProgram program) {
  constexpr const char* kNames[] = {"none",          "ib_write_bw", "ib_write_lat", "ib_read_bw",
                                    "ib_read_lat",   "ib_send_bw",  "ib_send_lat",  "ib_atomic_bw",
                                    "ib_atomic_lat", "tcp_bw",      "tcp_lat"};
  return kNames[static_cast<unsigned>(program)];
}

const char* name_of(PcieBenchOperation operation) {
  constexpr const char* kNames[] = {
      "read",          "write",  "read_write", "latency_read",     "latency_write_read",
      "latency_store", "nic_tx", "nic_rx",     "nic_bidirectional"};
  return kNames[static_cast<unsigned>(operation)];
}

const char* name_of(Operation operation) {
  constexpr const char* kNames[] = {"write",        "write_imm", "read",
                                    "send",         "send_imm",  "send_invalidate",
                                    "compare_swap", "fetch_add", "bind_window"};
  return kNames[static_cast<unsigned>(operation)];
}

std::optional<unsigned> WorkloadSpec::gpu_of(const std::string& host) const {
  const std::optional<std::string>& where = host == from ? from_memory : to_memory;
  if (!where || *where == kHostMemory) return std::nullopt;
  return static_cast<unsigned>(std::stoul(where->substr(std::string("gpu").size())));
}

void WorkloadSpec::describe(Fields& f) {
  describe_connection(f);
  describe_pairs(f);
  describe_faults(f);
  describe_perftest(f);
  describe_rkey_guessing(f);
  describe_flows(f);
}

void WorkloadSpec::describe_connection(Fields& f) {
  f.required().identifier("name", name, "name of the workload, in metric paths");
  f.choice(
      "pattern", pattern,
      {{"pairs", WorkloadPattern::kPairs},
       {"perftest", WorkloadPattern::kPerftest},
       {"rkey_guessing", WorkloadPattern::kRkeyGuessing},
       {"registration", WorkloadPattern::kRegistration},
       {"pcie_bench", WorkloadPattern::kPcieBench},
       {"incast", WorkloadPattern::kIncast},
       {"permutation", WorkloadPattern::kPermutation},
       {"all_to_all", WorkloadPattern::kAllToAll},
       {"poisson", WorkloadPattern::kPoisson},
       {"closed_loop", WorkloadPattern::kClosedLoop},
       {"flow_file", WorkloadPattern::kFlowFile},
       {"flow_list", WorkloadPattern::kFlowList}},
      "pairs: every queue pair of `from` works on its peer of `to`; perftest: one of the "
      "programs of that name; rkey_guessing: `from` tries keys until it can read what `to` "
      "did not give it the key of; registration: `from` registers `size` of its memory and "
      "deregisters it, `count` times; pcie_bench: the DMA exerciser of `from` reads and writes "
      "its host's memory (`pcie_bench`); flows among many hosts: incast (all `from` to one `to`), "
      "permutation (each of `from` to another of `to`), all_to_all, poisson (arrivals at "
      "random), closed_loop (each of `from` begins its next one, to one of `to` at random, "
      "when one has ended), flow_file (of HPCC or htsim), flow_list (`flows`)");
  f.choice("transport", transport,
           {{"rc", WorkloadTransport::kRc},
            {"uc", WorkloadTransport::kUc},
            {"ud", WorkloadTransport::kUd},
            {"tcp", WorkloadTransport::kTcp}},
           "transport service of verbs: reliable or unreliable connection, unreliable datagram; or "
           "TCP through sockets, as `tcp` says");
  f.any("from", from_rule, {"string", "array"},
        "host that posts; of perftest the client; of flows hosts, or NICs such as \"A.nic1\", by "
        "name, with * for any characters, or a list of such (default: all)");
  f.any("to", to_rule, {"string", "array"}, "host at the other end; of flows as `from`");
  f.field("queue_pairs", queue_pairs, range(1, 16384),
          "connected queue pairs; over TCP connections, each with a program of its own on each "
          "side");
  f.field("path_mtu", path_mtu,
          one_of(Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)),
          "largest payload of a packet");
  f.field("start", start, "when the applications start");
  f.choice(
      "control", control, {{"fixed", ControlKind::kFixed}, {"tcp", ControlKind::kTcp}},
      "how `to` hands address, length and rkey to `from`: over a channel of control_latency, or "
      "over a TCP connection of the same hosts");
  f.field("control_latency", control_latency, range(Time(), Time::s(1)),
          "one way of the fixed channel");
  f.field(
      "max_rd_atomic", max_rd_atomic, range(0, 16),
      "READs and atomics that a queue pair may have outstanding; with 0 one is refused at home");
  f.field("max_dest_rd_atomic", max_dest_rd_atomic, range(0, 16),
          "READs and atomics of its peer that a queue pair has resources for");
  f.field("ack_timeout", ack_timeout, range(0, 31),
          "n: a request is sent again when 4.096 us x 2^n pass without an answer; 0: never");
  f.field("retry_count", retry_count, range(0, 7),
          "how often, before the queue pair gives up with \"retry exceeded\"");
  f.field("rnr_retry", rnr_retry, range(0, 7),
          "how often it tries again when the peer has no receive posted; 7: for ever");
  f.field("dscp", dscp, range(0, 63),
          "differentiated services code point of its packets, from which ports and switches tell "
          "their priority: 26 is priority 3 by default");
  f.field("min_rnr_timer", min_rnr_timer, range(0, 31),
          "code (IBTA table 46) of the pause that the receiver asks for then; 12: 0.64 ms");
  f.optional("receive_depth", receive_depth, range(1, 32768),
             "receives posted ahead on a queue pair; if not given queue_depth, or 512 as perftest");
}

void WorkloadSpec::describe_pairs(Fields& f) {
  f.choice(
      "operation", operation,
      {{"write", Operation::kWrite},
       {"write_imm", Operation::kWriteImm},
       {"read", Operation::kRead},
       {"send", Operation::kSend},
       {"send_imm", Operation::kSendImm},
       {"send_invalidate", Operation::kSendInvalidate},
       {"compare_swap", Operation::kCompareSwap},
       {"fetch_add", Operation::kFetchAdd},
       {"bind_window", Operation::kBindWindow}},
      "what is posted; each send_invalidate takes away the key of a memory window that `to` had "
      "bound for it; of flows write, send, or read, which brings the bytes from `to`; "
      "bind_window: each queue pair of `from` binds a memory window of `size` to its "
      "own region and frees it again, in turn");
  f.field("size", size, range(Bytes(0), Bytes(std::uint64_t{1} << 31)),
          "payload of a message (IBTA: at most 2^31 B), or a flow's bytes");
  f.field("count", count, range(std::uint64_t{1}, std::uint64_t{10'000'000}),
          "messages in all; they go round robin over the queue pairs. Of flows: how many each pair "
          "of hosts has, of closed_loop each of `from`, of poisson how many there are in all");
  f.field("warm_up", warm_up, range(std::uint64_t{0}, std::uint64_t{10'000'000}),
          "of these, the first that statistics leave out");
  f.field("queue_depth", queue_depth, range(1, 32768), "outstanding work requests a queue pair");
  f.field("signal_every", signal_every, range(1, 32768), "every how manieth asks for a completion");
  f.field("post_list", post_list, range(1, 1024),
          "work requests that are posted on a queue pair as one list, with one doorbell");
  f.any("inline", inline_rule, {"boolean", "string"},
        "whether, or up to which size, data travels in the WQE (default: false)");
  constexpr const char* kOffsetText = ": fixed at its start, sequential, or random";
  const auto offset = [&](const char* key, OffsetPattern& value, const std::string& text) {
    f.choice(key, value,
             {{"fixed", OffsetPattern::kFixed},
              {"sequential", OffsetPattern::kSequential},
              {"random", OffsetPattern::kRandom}},
             text.c_str());
  };
  offset("remote_offset", remote_offset,
         std::string("place in the target's region, of receives the order of their buffers") +
             kOffsetText);
  offset("local_offset", local_offset,
         std::string("place in the initiator's region") + kOffsetText +
             "; what atomics bring goes to places in turn");
  f.optional("region", region, range(Bytes(1), Bytes(std::uint64_t{1} << 40)),
             "registered memory of each queue pair and side; size if not given");
  f.field("regions", regions, range(1, 65536),
          "memory regions that each side registers its memory as, all of one length");
  f.optional("spacing", spacing, range(Bytes(1), Bytes(std::uint64_t{1} << 30)),
             "from the place of one message in a region to the next; size if not given");
  f.field("inline_receive", inline_receive,
          "received messages of up to 32 B stand in their completion entry, with no buffer write");
  f.optional("memory", memory, "where the regions stand: \"host\", or a GPU of the host, \"gpu0\"");
  f.optional("from_memory", from_memory, "where that of `from` stands, if not as `memory` says");
  f.optional("to_memory", to_memory, "where that of `to` stands, if not as `memory` says");
  f.choice("on_demand", on_demand,
           {{"none", OnDemand::kNone},
            {"from", OnDemand::kFrom},
            {"to", OnDemand::kTo},
            {"both", OnDemand::kBoth}},
           "whose regions are paged on demand (ODP): registered without pinning, with pages that "
           "come when the NIC first misses them");
  f.choice(
      "path", path,
      {{"direct", GpuPath::kDirect}, {"staged", GpuPath::kStaged}, {"cpu_copy", GpuPath::kCpuCopy}},
      "how a GPU's memory is reached: by the NIC itself, or through a buffer in host memory that "
      "the GPU's copy engine, or the program's core, copies from or to");
  f.field("fence", fence, "every work request waits for earlier READs and atomics");
  f.choice("completion", completion,
           {{"polling", CompletionMode::kPolling}, {"events", CompletionMode::kEvents}},
           "whether programs poll for completions or sleep until an interrupt says so");
  f.field("receiver_delay", receiver_delay, range(Time(), Time::s(1)),
          "a receiver that posts late: so long after it handed over what the initiator needs");
  f.field("remote_write", remote_write, "whether the target's region permits remote writes");
  f.check(warm_up < count, "warm_up", "must be less than count");
  f.check(signal_every <= queue_depth, "signal_every",
          "must not exceed queue_depth, or the send queue fills without a completion");
  f.check(post_list + signal_every <= queue_depth + 1, "post_list",
          "and signal_every - 1 must not exceed queue_depth, or the send queue fills without room "
          "for a list");
  f.check(!spacing || *spacing >= size, "spacing", "must not be less than size");
  f.check(!region || *region >= size, "region", "must hold at least one message of `size`");
}

void WorkloadSpec::describe_faults(Fields& f) {
  f.choice("fault", fault,
           {{"none", AccessFault::kNone},
            {"wrong_key", AccessFault::kWrongKey},
            {"stale_key", AccessFault::kStaleKey},
            {"below", AccessFault::kBelow},
            {"below_by_one", AccessFault::kBelowByOne},
            {"beyond", AccessFault::kBeyond},
            {"beyond_by_one", AccessFault::kBeyondByOne},
            {"wrap", AccessFault::kWrap},
            {"no_right", AccessFault::kNoRight},
            {"wrong_pd", AccessFault::kWrongPd},
            {"silent", AccessFault::kSilent}},
           "how the address or key handed to `from` is falsified");
  f.choice("local_fault", local_fault,
           {{"none", LocalFault::kNone},
            {"wrong_key", LocalFault::kWrongKey},
            {"beyond", LocalFault::kBeyond}},
           "what is wrong with the memory of `from` that its work requests name: a key never "
           "issued, or the last byte beyond the region");
  f.choice("receive_fault", receive_fault,
           {{"none", LocalFault::kNone},
            {"wrong_key", LocalFault::kWrongKey},
            {"short", LocalFault::kShort}},
           "what is wrong with the buffers of receives: a key never issued, or half the size");
  f.choice("target_fault", target_fault,
           {{"none", TargetFault::kNone},
            {"deregister", TargetFault::kDeregister},
            {"qp_error", TargetFault::kQpError},
            {"qp_reset", TargetFault::kQpReset},
            {"qp_destroy", TargetFault::kQpDestroy}},
           "what `to` does under traffic: deregisters its region, or moves its queue pairs to ERR "
           "or RESET, or destroys them");
  f.field("target_fault_after", target_fault_after, range(Time(), Time::s(1)),
          "so long after it handed over what the initiator needs");
  f.optional("cq_entries", cq_entries, range(1, 1 << 22),
             "places of each completion queue; as many as can be outstanding if not given");
  f.field("receiver_polls", receiver_polls,
          "false: receives are posted ahead, and nobody looks at their completion queue");
}

void WorkloadSpec::describe_perftest(Fields& f) {
  f.choice("test", test,
           {{"none", PerftestProgram::kNone},
            {"ib_write_bw", PerftestProgram::kWriteBw},
            {"ib_write_lat", PerftestProgram::kWriteLat},
            {"ib_read_bw", PerftestProgram::kReadBw},
            {"ib_read_lat", PerftestProgram::kReadLat},
            {"ib_send_bw", PerftestProgram::kSendBw},
            {"ib_send_lat", PerftestProgram::kSendLat},
            {"ib_atomic_bw", PerftestProgram::kAtomicBw},
            {"ib_atomic_lat", PerftestProgram::kAtomicLat},
            {"tcp_bw", PerftestProgram::kTcpBw},
            {"tcp_lat", PerftestProgram::kTcpLat}},
           "the program that the pattern perftest reproduces; over TCP tcp_bw or tcp_lat, of "
           "qperf");
  f.any("sizes", sizes_rule, {"string", "array"},
        "message sizes: one, a list, or \"all\", the powers of two from 2 B to 8 MiB (default: 64 "
        "KiB for bandwidth, 2 B for latency, 8 B for atomics)");
  f.optional("tx_depth", tx_depth, range(1, 15000),
             "outstanding work requests a queue pair; 128 for bandwidth");
  f.optional("cq_moderation", cq_moderation, range(1, 1024),
             "every how manieth asks for a completion; 100, 1 for one size beyond 8 KiB");
  f.optional("inline_size", inline_size, range(Bytes(0), Bytes(988)),
             "messages up to this size travel in their WQE; 220 B for ib_write_lat, 236 B (188 B "
             "over ud) for ib_send_lat, else 0 B");
  f.optional("iterations", iterations, range(5, 10'000'000),
             "exchanges of each size and queue pair; 5000 for ib_write_bw, else 1000");
  f.field("bidirectional", bidirectional, "both sides send at the same time");
}

void WorkloadSpec::describe_rkey_guessing(Fields& f) {
  f.optional("tries", tries, range(1, 1'000'000),
             "keys that the attacker tries at most; 64 if not given");
  f.optional("target_regions", target_regions, range(1, 65536),
             "regions that the target registers, the last with what the attacker wants; 16 if not "
             "given");
}

void WorkloadSpec::describe_flows(Fields& f) {
  f.optional("pcie_bench", pcie_bench, "what the pattern pcie_bench measures");
  f.optional("tcp", tcp, "what programs over TCP do with their sockets");
  f.optional("in_flight", in_flight, range(1, 1'000'000),
             "flows of a pair of hosts (closed_loop: of a host) at a time; when one ends the next "
             "begins; 1 if not given");
  f.optional("think_time", think_time, range(Time(), Time::s(1000)),
             "from the end of a flow to the begin of that which it made wait; none if not given");
  f.choice("nic_choice", nic_choice,
           {{"first", NicChoice::kFirst}, {"round_robin", NicChoice::kRoundRobin}},
           "which NIC of a host with several its flows take, where no NIC is named: the first, or "
           "in turn");
  f.optional("message_size", message_size, range(Bytes(1), Bytes(std::uint64_t{1} << 31)),
             "a flow is posted as messages of up to this size; 1 MiB if not given");
  f.optional("load", load, range(0.0001, 1.0),
             "of poisson: the share of its link that a sender offers on average");
  f.optional("duration", duration, range(Time::ps(1), Time::s(1000)),
             "of poisson: flows begin for so long, instead of a count");
  f.optional("cdf", cdf,
             "sizes of flows at random: WebSearch, AliStorage2019, FbHadoop or a file of `size "
             "cumulative_share` lines, relative to the scenario's folder");
  f.optional("file", file,
             "of flow_file: HPCC's flow file or htsim's connection matrix (.cm), relative to the "
             "scenario's folder");
  f.list("flows", flows, ListLimits{0, 1'000'000}, "of flow_list: the flows");
}

void TcpWorkloadSpec::describe(Fields& f) {
  f.field("response", response, range(Bytes(0), Bytes(std::uint64_t{1} << 30)),
          "what `to` answers each message with, and `from` waits for before the next; 0 B: "
          "nothing, messages form a stream");
  f.optional("receive_size", receive_size, range(Bytes(1), Bytes(std::uint64_t{1} << 30)),
             "most that a call to receive of a stream asks for; size if not given");
  f.optional("port", port, range(1, 32767),
             "that `to` listens at; further connections take those behind it. If not given the "
             "next free one from 5001 on");
  f.field("nodelay", nodelay, "small segments do not wait for acknowledgements (TCP_NODELAY)");
  f.field("zero_copy", zero_copy, "`from` sends its pages themselves (MSG_ZEROCOPY)");
  f.field("busy_poll", busy_poll,
          "who waits for data looks at the NIC's ring itself (SO_PREFER_BUSY_POLL)");
}

void PcieBenchSpec::describe(Fields& f) {
  f.any("operations", operations_rule, {"string", "array"},
        "one or a list of read, write and read_write (bandwidth), latency_read, "
        "latency_write_read, the time of a write and a read of the same bytes, latency_store, "
        "from a core's store of up to 64 B to the device having it, and nic_tx, nic_rx and "
        "nic_bidirectional, packets through a NIC's descriptor rings (default: read)");
  f.any("sizes", sizes_rule, {"string", "array"}, "of a transfer, one or a list (default: 64 B)");
  f.any("windows", windows_rule, {"string", "array"},
        "of memory that transfers go to, one or a list (default: 8 KiB)");
  f.field("engine", engine, "of latencies: through the device's DMA engine, or as a command");
  f.choice("cache", cache, {{"cold", PcieBenchCache::kCold}, {"warm", PcieBenchCache::kWarm}},
           "before each measurement: a CPU has written the window, or something else has filled "
           "the cache");
  f.field("random", random, "places in the window at random, or one after the other");
  f.field("offset", offset, range(Bytes(0), Bytes(4095)),
          "of each transfer from a cache line's begin");
  f.field("count", count, range(std::uint64_t{3}, std::uint64_t{10'000'000}),
          "transfers of each measurement; of rings packets of each, of which the first fifth is "
          "left out");
  f.optional("rings", rings, "of the operations nic_tx, nic_rx and nic_bidirectional");
}

void PcieBenchRings::describe(Fields& f) {
  f.object("transmit", transmit, "ring of packets that the host sends");
  f.object("receive", receive, "ring of packets that it receives");
}

void FlowSpec::describe(Fields& f) {
  f.optional("name", name, "what `after` of other flows calls it");
  f.required().field("from", from, "host that posts, or one of its NICs, \"A.nic1\"");
  f.required().field("to", to, "host at the other end, likewise");
  f.field("size", size, range(Bytes(1), Bytes(std::uint64_t{1} << 40)), "its bytes");
  f.field("start", start, range(Time(), Time::s(1000)),
          "when it begins, counted from when all are connected, or from the end of `after`");
  f.list("after", after, ListLimits{0, 65536},
         "names of flows of this list that must have ended, or failed, before");
  f.optional("priority", priority, range(0, 7),
             "its own, in place of the workload's `dscp`: the class selector of that number");
}

}  // namespace rnicsim
