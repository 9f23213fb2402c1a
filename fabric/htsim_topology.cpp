// SPDX-License-Identifier: MIT
#include "fabric/htsim_topology.h"

#include <algorithm>
#include <set>

#include "fabric/clos_topology.h"
#include "fabric/text_lines.h"

namespace rnicsim {
namespace {

constexpr std::uint64_t kMaxNodes = 65536;
constexpr std::uint64_t kMaxRadix = 4096;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

const std::vector<std::string>& header_keys() {
  static const std::vector<std::string> kKeys = {"nodes", "tiers", "podsize", "tier"};
  return kKeys;
}

const std::vector<std::string>& tier_keys() {
  static const std::vector<std::string> kKeys = {
      "tier",           "downlink_speed_gbps", "radix_down", "radix_up",   "downlink_latency_ns",
      "oversubscribed", "switch_latency_ns",   "bundle",     "queue_down", "queue_up"};
  return kKeys;
}

/// Lines to settings; whether these fit one another is HtsimChecker's business.
class HtsimReader {
 public:
  HtsimReader(std::string_view text, const std::string& file) : lines_(text, file) {
    topology_.file = file;
  }

  HtsimTopology run() {
    while (lines_.next_with_words()) {
      if (lines_.words()[0][0] == '#') continue;
      if (lines_.words().size() != 2)
        throw lines_.error("a key and a value", std::to_string(lines_.words().size()) + " words");
      const std::string key = lower_case(lines_.words()[0]);
      if (key == "tier")
        begin_tier();
      else if (tier_ == nullptr)
        read_header(key);
      else
        read_tier(key);
    }
    for (std::size_t i = 0; i < topology_.tiers.size(); ++i)
      if (topology_.tiers[i].line == 0)
        throw lines_.error("", "Tiers says " + std::to_string(topology_.tiers.size()) +
                                   ", there is no Tier " + std::to_string(i));
    if (topology_.tiers.empty()) throw lines_.error("Nodes, Tiers, Podsize and the tiers", "none");
    return std::move(topology_);
  }

 private:
  std::uint32_t number(std::uint64_t max) const {
    const auto value = static_cast<std::uint32_t>(
        lines_.whole_number(1, max, std::string(lines_.words()[0]).c_str()));
    if (value == 0) throw lines_.error("a number above 0", "\"0\"");
    return value;
  }

  ConfigError unknown(const std::string& key, const std::vector<std::string>& known) const {
    ConfigError::Detail detail;
    detail.file = lines_.file();
    detail.line = lines_.line();
    detail.found =
        "unknown key " + in_quotes(lines_.words()[0]) + "; known here: " + one_of_text(known);
    detail.nearest = nearest_of(key, known);
    return ConfigError(std::move(detail));
  }

  void once(const std::string& key) {
    if (!seen_.insert(key).second) throw lines_.error("", in_quotes(key) + " is given twice");
  }

  void read_header(const std::string& key) {
    once(key);
    if (key == "nodes")
      topology_.nodes = number(kMaxNodes);
    else if (key == "podsize")
      topology_.pod_size = number(kMaxNodes);
    else if (key == "tiers")
      read_tier_count();
    else
      throw unknown(key, header_keys());
  }

  void read_tier_count() {
    const std::uint64_t tiers = lines_.whole_number(1, 3, "2 or 3 tiers");
    if (tiers < 2) throw lines_.error("2 or 3 tiers", in_quotes(lines_.words()[1]));
    topology_.tiers.resize(tiers);
  }

  void begin_tier() {
    const char* missing = topology_.nodes == 0      ? "Nodes"
                          : topology_.pod_size == 0 ? "Podsize"
                          : topology_.tiers.empty() ? "Tiers"
                                                    : nullptr;
    if (missing != nullptr)
      throw lines_.error(std::string(missing) + " before the first tier", "Tier");
    const std::uint64_t index =
        lines_.whole_number(1, topology_.tiers.size() - 1, "the number of a tier");
    tier_ = &topology_.tiers[index];
    if (tier_->line != 0)
      throw lines_.error("", "Tier " + std::to_string(index) + " is given twice");
    tier_->line = lines_.line();
    seen_.clear();
  }

  void read_tier(const std::string& key) {
    once(key);
    const bool top = tier_ == &topology_.tiers.back();
    if (top && (key == "radix_up" || key == "queue_up"))
      throw lines_.error("", in_quotes(key) + " has no place in the top tier: nothing is above it");
    if (key == "downlink_speed_gbps")
      tier_->downlink_rate = lines_.rate_in(1, "Gb/s", "a rate");
    else if (key == "downlink_latency_ns")
      tier_->downlink_latency = lines_.time_in(1, "ns", "a latency");
    else if (key == "switch_latency_ns")
      tier_->switch_latency = lines_.time_in(1, "ns", "a latency");
    else if (key == "radix_down")
      tier_->radix_down = number(kMaxRadix);
    else if (key == "radix_up")
      tier_->radix_up = number(kMaxRadix);
    else if (key == "oversubscribed")
      tier_->oversubscribed = number(kMaxRadix);
    else if (key == "bundle")
      tier_->bundle = number(kMaxRadix);
    else if (key == "queue_up")
      tier_->queue_up = Bytes(lines_.whole_number(1, UINT64_MAX, "a size in bytes"));
    else if (key == "queue_down")
      tier_->queue_down = Bytes(lines_.whole_number(1, UINT64_MAX, "a size in bytes"));
    else
      throw unknown(key, tier_keys());
  }

  TextLines lines_;
  HtsimTopology topology_;
  HtsimTopology::Tier* tier_ = nullptr;
  std::set<std::string> seen_;  ///< keys of the header or of this tier
};

class HtsimChecker {
 public:
  explicit HtsimChecker(const HtsimTopology& topology) : topology_(topology) {}

  void run() const {
    for (std::size_t tier = 0; tier < topology_.tiers.size(); ++tier) check_given(tier);
    check_bundles();
    check_pods();
    check_oversubscription(0);
    check_aggregations();
    if (topology_.tiers.size() == 3) check_cores();
  }

 private:
  const HtsimTopology::Tier& tier(std::size_t i) const { return topology_.tiers[i]; }

  void require(bool holds, std::size_t tier_index, const std::string& problem) const {
    if (holds) return;
    ConfigError::Detail detail;
    detail.file = topology_.file;
    detail.line = tier(tier_index).line;
    detail.found = "Tier " + std::to_string(tier_index) + ": " + problem;
    throw ConfigError(std::move(detail));
  }

  static std::string text(const char* key, std::uint64_t value) {
    return std::string(key) + ' ' + std::to_string(value);
  }

  void check_given(std::size_t i) const {
    require(tier(i).downlink_rate != BitRate(), i, "Downlink_speed_Gbps is missing");
    require(tier(i).downlink_latency.has_value(), i, "Downlink_Latency_ns is missing");
    require(tier(i).radix_down > 0, i, "Radix_Down is missing");
    require(tier(i).radix_up > 0 || i + 1 == topology_.tiers.size(), i, "Radix_Up is missing");
  }

  void check_bundles() const {
    require(tier(0).bundle == 1, 0, "Bundle must be 1: a host has one link");
    for (std::size_t i = 1; i < topology_.tiers.size(); ++i) {
      const std::string bundle = text("Bundle", tier(i).bundle);
      require(tier(i).radix_down % tier(i).bundle == 0, i,
              text("Radix_Down", tier(i).radix_down) + " is no multiple of " + bundle);
      require(tier(i - 1).radix_up % tier(i).bundle == 0, i,
              text("Radix_Up", tier(i - 1).radix_up) + " of the tier below is no multiple of " +
                  bundle);
    }
  }

  void check_pods() const {
    const std::string pod = text("Podsize", topology_.pod_size);
    require(topology_.nodes % topology_.pod_size == 0, 0,
            text("Nodes", topology_.nodes) + " is no multiple of " + pod);
    require(topology_.pods() == 1 || topology_.tiers.size() == 3, 0,
            text("Nodes", topology_.nodes) + " and " + pod +
                " make several pods, which two tiers do not connect");
    require(topology_.pod_size % tier(0).radix_down == 0, 0,
            pod + " is no multiple of " + text("Radix_Down", tier(0).radix_down));
  }

  /// Rate down = rate up x oversubscription.
  void check_oversubscription(std::size_t i) const {
    const auto product = [](std::uint32_t links, BitRate rate, std::uint32_t factor) {
      return static_cast<Uint128>(links) * factor * rate.numerator();
    };
    const bool fits = product(tier(i).radix_down, tier(i).downlink_rate, 1) ==
                      product(tier(i).radix_up, tier(i + 1).downlink_rate, tier(i).oversubscribed);
    require(fits, i,
            text("Radix_Down", tier(i).radix_down) + " and " + text("Radix_Up", tier(i).radix_up) +
                " do not give " + text("Oversubscribed", tier(i).oversubscribed) +
                " at the tiers' speeds");
  }

  void check_aggregations() const {
    const std::uint64_t links = std::uint64_t{topology_.edges()} * tier(1).bundle;
    require(tier(1).radix_down == links, 1,
            text("Radix_Down", tier(1).radix_down) + ", but " + std::to_string(topology_.edges()) +
                " switches below with a " + text("Bundle", tier(1).bundle) + " need " +
                std::to_string(links));
  }

  void check_cores() const {
    check_oversubscription(1);
    const std::uint64_t links = std::uint64_t{topology_.pods()} * tier(2).bundle;
    require(tier(2).radix_down == links, 2,
            text("Radix_Down", tier(2).radix_down) + ", but " + std::to_string(topology_.pods()) +
                " pods with a " + text("Bundle", tier(2).bundle) + " need " +
                std::to_string(links));
  }

  const HtsimTopology& topology_;
};

}  // namespace

HtsimTopology read_htsim_topology(std::string_view text, const std::string& file) {
  HtsimTopology topology = HtsimReader(text, file).run();
  HtsimChecker(topology).run();
  return topology;
}

Topology build_htsim(const HtsimTopology& source, const std::vector<std::string>& end_points) {
  ClosShape shape;
  shape.pods = source.pods();
  shape.edges = source.edges();
  shape.places = source.tiers[0].radix_down;
  shape.aggregations = source.aggregations();
  shape.edge_links = source.tiers[1].bundle;
  shape.cores = source.cores();
  bool queues = false;
  for (std::size_t i = 0; i < source.tiers.size(); ++i) {
    const HtsimTopology::Tier& tier = source.tiers[i];
    shape.tiers[i].downlink.rate = tier.downlink_rate;
    shape.tiers[i].downlink.delay = tier.downlink_latency;
    if (tier.switch_latency != Time()) shape.tiers[i].latency = tier.switch_latency;
    queues = queues || tier.queue_up || tier.queue_down;
  }
  if (source.tiers.size() == 3) shape.core_links = source.tiers[2].bundle;
  Topology topology = build_clos(shape, end_points, source.file, "htsim.file");
  if (queues)
    topology.notes.push_back("queue sizes of " + source.file +
                             " are left out: switches share their buffer");
  return topology;
}

}  // namespace rnicsim
