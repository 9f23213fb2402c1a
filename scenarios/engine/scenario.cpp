// SPDX-License-Identifier: MIT
#include "scenarios/engine/scenario.h"

namespace rnicsim {

void EngineSpec::describe(Fields& f) {
  f.field("run_ahead", run_ahead,
          "run ahead of the kernel to its next activity; off: one instant at a time, same results");
  f.choice("payload", payload,
           {{"carried", PayloadMode::kCarried}, {"elided", PayloadMode::kElided}},
           "whether payload bytes are moved and compared, or only their times");
}

void NicSpec::describe(Fields& f) {
  f.optional("preset", preset, "name of a file in presets/nic that this is merged over");
  config.describe(f);
}

void HostSpec::describe(Fields& f) {
  f.required().identifier("name", name, "name of the host");
  f.optional("preset", preset, "name of a file in presets/host that this is merged over");
  config.describe(f);
  f.list("nics", nics, ListLimits{1, 8, "nic"}, "the RDMA NICs");
}

void LinkSpec::describe(Fields& f) {
  f.optional("preset", preset, "name of a file in presets/link that this is merged over");
  config.describe(f);
  f.list("faults", faults, ListLimits{0, 1024},
         "injected faults: of these rules, the first that fires acts on a packet");
}

void FabricSpec::describe(Fields& f) {
  f.choice("topology", topology, {{"back_to_back", Topology::kBackToBack}},
           "back_to_back: two hosts and one link");
  f.choice("link_layer", link_layer, {{"rocev2", LinkLayer::kRoceV2}}, "what carries RDMA");
  f.object("link", link, "the link or links");
}

void WorkloadSpec::describe(Fields& f) {
  f.required().identifier("name", name, "name of the workload, in metric paths");
  f.choice("pattern", pattern, {{"pairs", WorkloadPattern::kPairs}},
           "pairs: every queue pair of `from` writes to its peer of `to`");
  f.choice("operation", operation, {{"write", Operation::kWrite}}, "what is posted");
  f.choice("transport", transport, {{"rc", TransportKind::kRc}}, "transport service");
  f.required().field("from", from, "host that posts");
  f.required().field("to", to, "host at the other end");
  f.field("size", size, range(Bytes(0), Bytes(std::uint64_t{1} << 31)),
          "payload of a message (IBTA: at most 2^31 B)");
  f.field("count", count, range(std::uint64_t{1}, std::uint64_t{10'000'000}),
          "messages in all; they go round robin over the queue pairs");
  f.field("warm_up", warm_up, range(std::uint64_t{0}, std::uint64_t{10'000'000}),
          "of these, the first that statistics leave out");
  f.field("queue_pairs", queue_pairs, range(1, 16384), "connected queue pairs");
  f.field("queue_depth", queue_depth, range(1, 32768), "outstanding work requests a queue pair");
  f.field("signal_every", signal_every, range(1, 32768), "every how manieth asks for a completion");
  f.field("path_mtu", path_mtu,
          one_of(Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)),
          "largest payload of a packet");
  f.any("inline", inline_rule, {"boolean", "string"},
        "whether, or up to which size, data travels in the WQE (default: false)");
  f.field("start", start, "when the applications start");
  f.field("control_latency", control_latency, range(Time(), Time::s(1)),
          "one way of the channel over which B hands address, length and rkey to A");
  constexpr const char* kOffsetText = ": fixed at its start, sequential, or random";
  const auto offset = [&](const char* key, OffsetPattern& pattern, const std::string& text) {
    f.choice(key, pattern,
             {{"fixed", OffsetPattern::kFixed},
              {"sequential", OffsetPattern::kSequential},
              {"random", OffsetPattern::kRandom}},
             text.c_str());
  };
  offset("remote_offset", remote_offset, std::string("place in the target's region") + kOffsetText);
  offset("local_offset", local_offset, std::string("place in the source's region") + kOffsetText);
  f.optional("region", region, range(Bytes(1), Bytes(std::uint64_t{1} << 40)),
             "registered memory of each queue pair and side; size if not given");
  f.field("remote_write", remote_write, "whether the target's region permits remote writes");
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
  f.check(from != to, "to", "loopback is not supported: `from` and `to` are the same host");
  f.check(warm_up < count, "warm_up", "must be less than count");
  f.check(signal_every <= queue_depth, "signal_every",
          "must not exceed queue_depth, or the send queue fills without a completion");
  f.check(!region || *region >= size, "region", "must hold at least one message of `size`");
}

void TimelineSpec::describe(Fields& f) {
  f.field("work_requests", work_requests, range(0, 1'000'000),
          "how many of each workload's first work requests the timeline shows");
}

void VariantSpec::describe(Fields& f) {
  f.required().identifier("name", name, "name of the variant");
  f.field("title", title, "one line for people");
  f.required().any("set", set, {"object"}, "path -> value, laid over the scenario");
}

void Scenario::describe(Fields& f) {
  f.field("title", title, "one line for people");
  f.field("seed", seed, "of all random choices; the same seed gives the same bytes");
  f.field("stop_at", stop_at, range(Time::ps(1), Time::s(1000)),
          "end of simulated time for a run that does not end by itself");
  f.object("engine", engine, "how the simulator works; changes no result");
  f.required().list("hosts", hosts, ListLimits{1, 65536}, "the servers");
  f.object("fabric", fabric, "what connects them");
  f.required().list("workload", workload, ListLimits{1, 65536}, "what the applications do");
  f.object("timeline", timeline, "how much of it the timeline shows");
  f.list("variants", variants, "runs of their own, each with some values changed");
  f.list("expect", expect, "what must come out; a run that fails it exits with 1");
}

}  // namespace rnicsim
