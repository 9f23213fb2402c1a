// SPDX-License-Identifier: MIT
#include "scenarios/engine/bottleneck_resource.h"

#include <fmt/format.h>

#include <algorithm>

namespace rnicsim {
namespace {

bool has_end(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool has_beginning(const std::string& text, const std::string& begin) {
  return text.compare(0, begin.size(), begin) == 0;
}

/// "host.A.nic0.pcie.upstream.busy" without host, NIC and leaf: "pcie.upstream".
struct Place {
  std::string host;   ///< empty: in the fabric
  std::string block;  ///< below the NIC, the host or the fabric
};

Place place_of(const std::string& path) {
  const std::string block = path.substr(0, path.rfind('.'));
  if (has_beginning(path, "fabric.")) return {"", block.substr(7)};
  const std::size_t host_end = block.find('.', 5);
  if (host_end == std::string::npos) return {block.substr(5), ""};
  Place place{block.substr(5, host_end - 5), block.substr(host_end + 1)};
  if (has_beginning(place.block, "nic")) {
    const std::size_t nic_end = place.block.find('.');
    if (place.block.compare(0, nic_end, "nic0") != 0)
      place.host += '.' + place.block.substr(0, nic_end);
    place.block.erase(0, nic_end == std::string::npos ? nic_end : nic_end + 1);
  }
  return place;
}

struct KindOfBlock {
  const char* block;  ///< or its beginning
  bool whole;
  ResourceKind kind;
};
constexpr KindOfBlock kBlocks[] = {
    {"port.tx", true, ResourceKind::kWire},
    {"pcie.upstream", true, ResourceKind::kPcieUp},
    {"pcie.downstream", true, ResourceKind::kPcieDown},
    {"memory", true, ResourceKind::kMemory},
    {"memory.numa", false, ResourceKind::kNumaLink},
    {"page_faults", true, ResourceKind::kPageFaults},
    {"iommu", true, ResourceKind::kIommu},
    {"cpu.core", false, ResourceKind::kCore},
    {"pcie_switch.upstream", true, ResourceKind::kSwitchUp},
    {"pcie_switch.downstream", true, ResourceKind::kSwitchDown},
    {"root_complex.peer_writes", true, ResourceKind::kPeerWrites},
    {"root_complex.peer_reads", true, ResourceKind::kPeerReads},
};

struct KindOfPath {
  const char* end;
  ResourceKind kind;
};
constexpr KindOfPath kOfGpu[] = {
    {".link_in", ResourceKind::kGpuIn},
    {".link_out", ResourceKind::kGpuOut},
    {".bar_writes", ResourceKind::kBarWrites},
    {".bar_reads", ResourceKind::kBarReads},
};
constexpr KindOfPath kStalls[] = {
    {"translation_cache.stalled.miss_registers", ResourceKind::kWalks},
    {"atomic_unit.stalled.locks", ResourceKind::kLocks},
    {"pcie_endpoint.stalled.tags", ResourceKind::kTags},
    {".stalled.window", ResourceKind::kWriteWindow},
};

Resource resource_at(const Place& place, const std::string& path) {
  for (const KindOfBlock& known : kBlocks)
    if (known.whole ? place.block == known.block : has_beginning(place.block, known.block))
      return {known.kind, place.host, ""};
  for (const KindOfPath& known : kOfGpu)
    if (has_end(place.block, known.end))
      return {known.kind, place.host, place.block.substr(0, place.block.find('.'))};
  for (const KindOfPath& known : kStalls)
    if (has_end(path, known.end)) return {known.kind, place.host, ""};
  std::string block = place.block;
  std::replace(block.begin(), block.end(), '_', ' ');
  if (has_end(path, ".copying")) return {ResourceKind::kCopyEngine, place.host, block};
  const std::size_t stall = block.find(".stalled");
  if (stall != std::string::npos) block.resize(stall);
  std::replace(block.begin(), block.end(), '.', ' ');
  return {ResourceKind::kBlock, place.host, block};
}

/// In the order of ResourceKind.
constexpr const char* kWords[] = {
    "the wire out of {host}",
    "pauses that {host} was told to make",
    "pauses that {host} asked for, its NIC being full",
    "PCIe from the NIC of {host} to its memory",
    "PCIe from the memory of {host} to its NIC",
    "the memory bandwidth of {host}",
    "the way between the memory nodes of {host}",
    "page faults in regions of {host}",
    "page walks of the IOMMU of {host}",
    "the CPU core of {host} that works on data",
    "the upstream link of the PCIe switch of {host} towards its memory",
    "the upstream link of the PCIe switch of {host} from its memory",
    "the root complex of {host} that passes writes from port to port",
    "the root complex of {host} that passes completions from port to port",
    "PCIe to {block} of {host}",
    "PCIe from {block} of {host}",
    "the BAR of {block} of {host} that takes writes",
    "the BAR of {block} of {host} that answers reads",
    "walks of the translation table of {host}'s NIC, no miss register being free",
    "atomics on one address of {host}, one after the other",
    "PCIe reads of the NIC of {host}, all tags being out",
    "writes into the memory of {host}, as many being under way as its NIC allows",
    "the copy engine of {block} of {host}",
    "the {block} of {host}",
};

}  // namespace

Resource resource_of(const std::string& path) {
  const Place place = place_of(path);
  if (place.host.empty())
    return {ResourceKind::kWire, place.block.substr(0, place.block.rfind('.')), ""};
  if (place.block != "port.tx" && has_end(path, "_pause_duration"))
    return {path.find(".port.rx_") != std::string::npos ? ResourceKind::kPausesTaken
                                                        : ResourceKind::kPausesAsked,
            place.host, ""};
  return resource_at(place, path);
}

std::string words_of(const std::string& path) {
  const Resource resource = resource_of(path);
  return fmt::format(fmt::runtime(kWords[static_cast<std::size_t>(resource.kind)]),
                     fmt::arg("host", resource.host), fmt::arg("block", resource.block));
}

}  // namespace rnicsim
