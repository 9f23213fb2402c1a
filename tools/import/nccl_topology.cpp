// SPDX-License-Identifier: MIT
#include "tools/import/nccl_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <pugixml.hpp>
#include <vector>

namespace rnicsim {
namespace {

constexpr std::size_t kMostGpus = 16;
constexpr std::size_t kMostLanes = 32;
constexpr unsigned kMostMbps = 1'600'000;

class TopologyReader {
 public:
  TopologyReader(std::string_view text, const std::string& file, const std::string& net,
                 Machine& machine)
      : text_(text), file_(file), net_(net), machine_(machine) {}

  void read() {
    const pugi::xml_parse_result parsed =
        document_.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) fail_at(line_at(parsed.offset), "XML", parsed.description());
    const pugi::xml_node system = document_.child("system");
    if (!system) fail_at(1, "<system>", "<" + std::string(document_.first_child().name()) + ">");
    const pugi::xml_node net = find_net(system);
    read_rate(net);
    const pugi::xml_node slot = above(net, "pci");
    if (!slot) fail(net, "a <pci> around it", "none");
    read_link(slot, "pcie.");
    const pugi::xml_node bridge = above(slot, "pci");
    if (const pugi::xml_node cpu = above(slot, "cpu"))
      machine_.note(fmt::format("{}:{}: the NIC {} is at NUMA node {}", file_, line_of(cpu),
                                net.attribute("name").value(), cpu.attribute("numaid").value()));
    if (bridge) read_switch(bridge);
  }

 private:
  using Node = pugi::xml_node;

  int line_at(std::ptrdiff_t offset) const {
    const auto end = text_.begin() + std::clamp<std::ptrdiff_t>(
                                         offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
    return 1 + static_cast<int>(std::count(text_.begin(), end, '\n'));
  }
  int line_of(Node node) const { return line_at(node.offset_debug()); }

  [[noreturn]] void fail_at(int line, std::string expected, std::string found) const {
    ConfigError::Detail detail;
    detail.file = file_;
    detail.line = line;
    detail.expected = std::move(expected);
    detail.found = std::move(found);
    throw ConfigError(std::move(detail));
  }
  [[noreturn]] void fail(Node node, std::string expected, std::string found) const {
    fail_at(line_of(node), std::move(expected), std::move(found));
  }

  static Node above(Node node, const char* name) {
    for (node = node.parent(); node; node = node.parent())
      if (std::strcmp(node.name(), name) == 0) return node;
    return {};
  }

  Node find_net(Node system) {
    std::vector<Node> nets;
    collect(system, "net", nets);
    if (nets.empty()) fail(system, "a <net> somewhere in it", "none");
    if (net_.empty()) {
      if (nets.size() > 1)
        machine_.note(fmt::format("{}:{}: took {}, the first of {} NICs; --hca chooses", file_,
                                  line_of(nets[0]), nets[0].attribute("name").value(),
                                  nets.size()));
      return nets[0];
    }
    for (const Node net : nets)
      if (net_ == net.attribute("name").value()) return net;
    fail(system, "a <net name=\"" + net_ + "\">", "others");
  }

  static void collect(Node below, const char* name, std::vector<Node>& found) {
    struct Walker : pugi::xml_tree_walker {
      const char* name = nullptr;
      std::vector<Node>* found = nullptr;
      bool for_each(Node& node) override {
        if (std::strcmp(node.name(), name) == 0) found->push_back(node);
        return true;
      }
    } walker;
    walker.name = name;
    walker.found = &found;
    below.traverse(walker);
  }

  /// 0 if it is none.
  static unsigned whole(const pugi::xml_attribute& attribute) {
    const std::string_view text = attribute.value();
    unsigned number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? number : 0;
  }

  void read_rate(Node net) {
    const unsigned mbps = whole(net.attribute("speed"));
    if (mbps == 0 || mbps > kMostMbps)
      fail(net, "speed=\"100000\" or the like (Mb/s)", in_quotes(net.attribute("speed").value()));
    machine_.learn(PresetKind::kLink, "rate", rate_text(mbps),
                   {file_, line_of(net), fmt::format("speed {}", mbps)});
  }

  /// Under "pcie." or "pcie_switch.".
  void read_link(Node pci, const std::string& path) {
    const unsigned generation = pcie_generation(pci.attribute("link_speed").value());
    const unsigned lanes = whole(pci.attribute("link_width"));
    if (generation == 0)
      fail(pci, "link_speed=\"16.0 GT/s PCIe\" or the like",
           in_quotes(pci.attribute("link_speed").value()));
    if (lanes == 0 || lanes > kMostLanes || (lanes & (lanes - 1)) != 0)
      fail(pci, "link_width=\"16\" or the like", in_quotes(pci.attribute("link_width").value()));
    // What it runs at; lspci, if it has been read before, knows what it could be.
    const bool trained = path == "pcie." && machine_.knows(PresetKind::kHost, "pcie.trained.lanes");
    const std::string own = trained ? path + "trained." : path;
    machine_.learn(
        PresetKind::kHost, own + "generation", generation,
        {file_, line_of(pci), fmt::format("link_speed {}", pci.attribute("link_speed").value())});
    machine_.learn(PresetKind::kHost, own + "lanes", lanes,
                   {file_, line_of(pci), fmt::format("link_width {}", lanes)});
  }

  /// The NIC stands below it, and so may GPUs.
  void read_switch(Node bridge) {
    if (*bridge.attribute("link_speed").value() != '\0')
      read_link(bridge, "pcie_switch.");
    else
      machine_.note(fmt::format("{}:{}: not said: the speed of the switch's own link; the default",
                                file_, line_of(bridge)));
    std::vector<Node> gpus;
    collect(bridge, "gpu", gpus);
    if (gpus.size() > kMostGpus) {
      machine_.note(fmt::format("{}:{}: {} GPUs, of which a host has at most {}", file_,
                                line_of(bridge), gpus.size(), kMostGpus));
      gpus.resize(kMostGpus);
    }
    Machine::Json devices = {"nic0"};
    Machine::Json list = Machine::Json::array();
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      devices.push_back("gpu" + std::to_string(i));
      list.push_back(Machine::Json::object());
    }
    const Machine::Place place{file_, line_of(bridge),
                               fmt::format("a <pci> that holds the NIC and {} GPUs", gpus.size())};
    machine_.learn(PresetKind::kHost, "pcie_switch.devices", devices, place);
    if (!gpus.empty()) machine_.learn(PresetKind::kHost, "gpus", list, place);
  }

  std::string_view text_;
  const std::string& file_;
  const std::string& net_;
  Machine& machine_;
  pugi::xml_document document_;
};

}  // namespace

void read_nccl_topology(std::string_view text, const std::string& file, const std::string& net,
                        Machine& machine) {
  TopologyReader(text, file, net, machine).read();
}

}  // namespace rnicsim
