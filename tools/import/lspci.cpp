// SPDX-License-Identifier: MIT
#include "tools/import/lspci.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

namespace rnicsim {
namespace {

constexpr std::string_view kHex = "0123456789abcdefABCDEF";

/// "0000:5e:00.0" or "5e:00.0" at the begin of a line; empty if there is none.
std::string_view address_of(std::string_view line) {
  const std::string_view address = line.substr(0, line.find(' '));
  const std::size_t dot = address.rfind('.');
  if (dot == std::string_view::npos || dot + 2 != address.size() || dot < 5 ||
      address[dot - 3] != ':')
    return {};
  for (const char c : address)
    if (c != ':' && c != '.' && kHex.find(c) == std::string_view::npos) return {};
  return address;
}

/// One of them may be without its domain.
bool is_same_device(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  if (a.size() == b.size()) return a == b;
  return a.size() > b.size() && a.substr(a.size() - b.size()) == b &&
         a[a.size() - b.size() - 1] == ':' && b.find(':') == 2;
}

struct Section {
  std::string_view address;
  std::string_view title;
  std::size_t begin = 0;  ///< its first line
  std::size_t end = 0;
  bool has_link = false;
  bool is_network() const {
    return title.find("Ethernet controller") != std::string_view::npos ||
           title.find("Infiniband controller") != std::string_view::npos ||
           title.find("Network controller") != std::string_view::npos;
  }
  bool is_bridge() const { return title.find("PCI bridge") != std::string_view::npos; }
};

std::vector<Section> sections_of(const ListingLines& lines) {
  std::vector<Section> sections;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view address = address_of(lines[i]);
    if (!address.empty()) {
      Section section;
      section.address = address;
      section.title = trimmed(lines[i].substr(address.size()));
      section.begin = i;
      sections.push_back(section);
    }
    if (sections.empty()) continue;
    sections.back().end = i + 1;
    if (lines[i].find("LnkSta:") != std::string_view::npos) sections.back().has_link = true;
  }
  return sections;
}

class DeviceReader {
 public:
  DeviceReader(const ListingLines& lines, const Section& section, Machine& machine)
      : lines_(lines), section_(section), machine_(machine) {}

  void read() {
    for (std::size_t i = section_.begin; i < section_.end; ++i) read_line(i);
    require(can_, "LnkCap:");
    require(has_, "LnkSta:");
    host("pcie.generation", can_->generation, can_->line);
    host("pcie.lanes", can_->lanes, can_->line);
    if (has_->generation == can_->generation && has_->lanes == can_->lanes) return;
    if (has_->generation > can_->generation || has_->lanes > can_->lanes)
      lines_.fail(has_->line, "no more than LnkCap says", text(has_->line));
    host("pcie.trained.generation", has_->generation, has_->line);
    host("pcie.trained.lanes", has_->lanes, has_->line);
    machine_.note(fmt::format("{}:{}: the link of {} has come to less than it can do",
                              lines_.file(), has_->line + 1, std::string(section_.address)));
  }

 private:
  struct Link {
    unsigned generation;
    unsigned lanes;
    std::size_t line;
  };

  std::string text(std::size_t i) const { return std::string(trimmed(lines_[i])); }

  void host(const std::string& path, Machine::Json value, std::size_t i) {
    machine_.learn(PresetKind::kHost, path, std::move(value), lines_.place(i, text(i)));
  }

  void require(const std::optional<Link>& link, const char* what) {
    if (link) return;
    const bool denied = access_denied_ != 0;
    lines_.fail(denied ? access_denied_ : section_.begin,
                fmt::format("\"{}\" of {}, as lspci -vv prints it for root", what,
                            std::string(section_.address)),
                denied ? text(access_denied_) : "none");
  }

  Link link_at(std::size_t i) const {
    const std::string_view line = lines_[i];
    const unsigned generation = pcie_generation(text_between(line, "Speed ", ",("));
    const std::string_view width = text_between(line, "Width x", ", (");
    unsigned lanes = 0;
    std::from_chars(width.data(), width.data() + width.size(), lanes);
    const bool power = lanes != 0 && lanes <= 32 && (lanes & (lanes - 1)) == 0;
    if (generation == 0 || !power)
      lines_.fail(i, "\"Speed 8GT/s, Width x16\" or the like", text(i));
    return {generation, lanes, i};
  }

  /// "MaxPayload 256 bytes"
  void read_bytes(std::size_t i, std::string_view before, const std::string& path) {
    const std::string_view words = text_between(lines_[i], before, " ,;");
    if (words.empty()) return;
    unsigned bytes = 0;
    const auto parsed = std::from_chars(words.data(), words.data() + words.size(), bytes);
    const bool boundary = path == "pcie.read_completion_boundary";
    const bool good = parsed.ec == std::errc() && parsed.ptr == words.data() + words.size() &&
                      (boundary ? bytes == 64 || bytes == 128
                                : bytes >= 128 && bytes <= 4096 && (bytes & (bytes - 1)) == 0);
    if (!good)
      lines_.fail(i, fmt::format("\"{}256 bytes\" or the like", std::string(before)), text(i));
    host(path, std::to_string(bytes) + " B", i);
  }

  void read_line(std::size_t i) {
    const std::string_view line = trimmed(lines_[i]);
    const auto begins = [&](std::string_view word) { return line.substr(0, word.size()) == word; };
    if (line.find("<access denied>") != std::string_view::npos) access_denied_ = i;
    if (begins("LnkCap:")) can_ = link_at(i);
    if (begins("LnkSta:")) has_ = link_at(i);
    if (begins("LnkCtl:")) read_bytes(i, "RCB ", "pcie.read_completion_boundary");
    if (begins("NUMA node:"))
      machine_.note(fmt::format("{}:{}: the NIC {} is at NUMA node {}", lines_.file(), i + 1,
                                std::string(section_.address),
                                std::string(trimmed(line.substr(10)))));
    if (begins("DevCtl:")) in_control_ = 1;
    if (begins("DevSta:") || begins("DevCap2:")) in_control_ = 0;
    if (begins("DevCtl2:")) in_control_ = 2;
    if (begins("LnkCap2:") || begins("LnkCtl2:") || begins("LnkSta2:")) in_control_ = 0;
    if (in_control_ == 1) read_control(i);
    if (in_control_ == 2 && line.find("10BitTagReq+") != std::string_view::npos) ten_bit_tags(i);
  }

  void read_control(std::size_t i) {
    const std::string_view line = lines_[i];
    read_bytes(i, "MaxPayload ", "pcie.max_payload");
    read_bytes(i, "MaxReadReq ", "pcie.max_read_request");
    if (line.find("RlxdOrd+") != std::string_view::npos ||
        line.find("RlxdOrd-") != std::string_view::npos)
      machine_.learn(PresetKind::kNic, "pcie.relaxed_ordering",
                     line.find("RlxdOrd+") != std::string_view::npos, lines_.place(i, text(i)));
    if (machine_.knows(PresetKind::kHost, "pcie.tag_bits")) return;
    if (line.find("ExtTag+") != std::string_view::npos) tags(8, i);
    if (line.find("ExtTag-") != std::string_view::npos) tags(5, i);
  }

  void tags(unsigned bits, std::size_t i) {
    if (!has_ten_bits()) host("pcie.tag_bits", bits, i);
  }
  /// DevCtl2 stands behind DevCtl and has the last word, so it is looked for first.
  bool has_ten_bits() const {
    for (std::size_t i = section_.begin; i < section_.end; ++i)
      if (lines_[i].find("10BitTagReq+") != std::string_view::npos) return true;
    return false;
  }
  void ten_bit_tags(std::size_t i) { host("pcie.tag_bits", 10, i); }

  const ListingLines& lines_;
  const Section& section_;
  Machine& machine_;
  std::optional<Link> can_;
  std::optional<Link> has_;
  std::size_t access_denied_ = 0;
  int in_control_ = 0;  ///< 1: DevCtl goes on, 2: DevCtl2
};

const Section& chosen(const ListingLines& lines, const std::vector<Section>& sections,
                      const std::string& device, Machine& machine) {
  const Section* found = nullptr;
  std::size_t others = 0;
  for (const Section& section : sections) {
    const bool fits = device.empty() ? section.is_network() && section.has_link
                                     : is_same_device(section.address, device);
    if (!fits) continue;
    if (found == nullptr)
      found = &section;
    else
      ++others;
  }
  // Without a link a NIC still says why.
  for (const Section& section : sections)
    if (found == nullptr && device.empty() && section.is_network()) found = &section;
  if (found == nullptr)
    lines.fail_at_end(device.empty() ? "an Ethernet, Infiniband or Network controller"
                                     : "the device " + device);
  if (others != 0 && device.empty())
    machine.note(
        fmt::format("{}:{}: took {}, the first of {} network controllers; --device chooses",
                    lines.file(), found->begin + 1, std::string(found->address), others + 1));
  return *found;
}

/// Peer-to-peer requests below a bridge that redirects them go up to the root complex.
void read_redirection(const ListingLines& lines, const std::vector<Section>& sections,
                      Machine& machine) {
  for (const Section& section : sections) {
    if (!section.is_bridge()) continue;
    for (std::size_t i = section.begin; i < section.end; ++i) {
      if (lines[i].find("ACSCtl:") == std::string_view::npos ||
          lines[i].find("ReqRedir+") == std::string_view::npos)
        continue;
      machine.note(
          fmt::format("{}:{}: the bridge {} redirects peer-to-peer requests (ACS): under a "
                      "PCIe switch set pcie_switch.acs_redirect",
                      lines.file(), i + 1, std::string(section.address)));
      return;
    }
  }
}

}  // namespace

void read_lspci(std::string_view text, const std::string& file, const std::string& device,
                Machine& machine) {
  const ListingLines lines(text, file);
  const std::vector<Section> sections = sections_of(lines);
  const Section& section = chosen(lines, sections, device, machine);
  DeviceReader(lines, section, machine).read();
  read_redirection(lines, sections, machine);
}

}  // namespace rnicsim
