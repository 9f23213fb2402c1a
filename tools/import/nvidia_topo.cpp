// SPDX-License-Identifier: MIT
#include "tools/import/nvidia_topo.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace rnicsim {
namespace {

constexpr std::size_t kMostGpus = 16;

/// The header is underlined on a terminal: escape sequences are no part of a word.
std::vector<std::string> words_of(std::string_view line) {
  constexpr char kEscape = '\x1b';
  std::vector<std::string> words;
  std::string word;
  bool escaped = false;
  for (const char c : line) {
    if (escaped || c == kEscape) {
      escaped = c != 'm';
    } else if (c != ' ' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

/// "GPU0", and not the "GPU" of "GPU NUMA ID".
bool is_gpu(const std::string& name) { return name.size() > 3 && name.compare(0, 3, "GPU") == 0; }
/// What stands in the header and is neither GPU nor text about CPUs.
bool is_nic(const std::string& name) {
  return name.compare(0, 3, "NIC") == 0 || name.find('_') != std::string::npos;
}

class MatrixReader {
 public:
  MatrixReader(const ListingLines& lines, const std::string& nic, Machine& machine)
      : lines_(lines), nic_(nic), machine_(machine) {}

  void read() {
    find_header();
    find_row();
    const std::vector<std::string> cells = words_of(lines_[row_]);
    std::vector<std::string> near;
    std::vector<std::string> far;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!is_gpu(names_[i])) continue;
      if (i + 1 >= cells.size())
        lines_.fail(row_, fmt::format("{} columns", names_.size()),
                    std::to_string(cells.size() - 1));
      const std::string& way = cells[i + 1];
      if (way == "PIX" || way == "PXB")
        near.push_back(names_[i]);
      else if (way == "PHB" || way == "NODE" || way == "SYS")
        far.push_back(names_[i] + " (" + way + ")");
      else
        lines_.fail(row_, "PIX, PXB, PHB, NODE or SYS for " + names_[i], in_quotes(way));
    }
    learn(near, far);
  }

 private:
  void find_header() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::vector<std::string> words = words_of(lines_[i]);
      if (words.empty() || !is_gpu(words[0]) || words.size() < 2 || words[1] == "X") continue;
      for (const std::string& word : words)
        if (is_gpu(word) || is_nic(word)) names_.push_back(word);
      header_ = i;
      return;
    }
    lines_.fail_at_end("a header \"GPU0 GPU1 ...\"");
  }

  /// "NIC0: mlx5_0" of the legend below the matrix.
  std::string column_name() const {
    for (std::size_t i = header_; i < lines_.size(); ++i) {
      const std::vector<std::string> words = words_of(lines_[i]);
      if (words.size() == 2 && words[1] == nic_ && words[0].back() == ':')
        return words[0].substr(0, words[0].size() - 1);
    }
    return nic_;
  }

  void find_row() {
    const std::string wanted = nic_.empty() ? std::string() : column_name();
    for (std::size_t i = header_ + 1; i < lines_.size() && row_ == 0; ++i) {
      const std::vector<std::string> words = words_of(lines_[i]);
      if (words.size() < 2 || !is_nic(words[0])) continue;
      const bool listed = std::find(names_.begin(), names_.end(), words[0]) != names_.end();
      if (listed && (wanted.empty() || words[0] == wanted)) row_ = i;
    }
    if (row_ == 0) lines_.fail_at_end(nic_.empty() ? "a row of a NIC" : "a row of the NIC " + nic_);
  }

  void learn(const std::vector<std::string>& near, const std::vector<std::string>& far) {
    const std::string words{trimmed(lines_[row_])};
    for (const std::string& gpu : far)
      machine_.note(fmt::format("{}:{}: {} is on no PCIe switch with the NIC: left out",
                                lines_.file(), row_ + 1, gpu));
    if (near.empty()) return;
    const std::size_t count = std::min(near.size(), kMostGpus);
    if (near.size() > count)
      machine_.note(fmt::format("{}:{}: {} GPUs, of which a host has at most {}", lines_.file(),
                                row_ + 1, near.size(), count));
    Machine::Json devices = {"nic0"};
    Machine::Json list = Machine::Json::array();
    for (std::size_t i = 0; i < count; ++i) {
      devices.push_back("gpu" + std::to_string(i));
      list.push_back(Machine::Json::object());
    }
    machine_.learn(PresetKind::kHost, "gpus", list, lines_.place(row_, words));
    machine_.learn(PresetKind::kHost, "pcie_switch.devices", devices, lines_.place(row_, words));
  }

  const ListingLines& lines_;
  const std::string& nic_;
  Machine& machine_;
  std::vector<std::string> names_;  ///< of the columns
  std::size_t header_ = 0;
  std::size_t row_ = 0;
};

}  // namespace

void read_nvidia_topo(std::string_view text, const std::string& file, const std::string& nic,
                      Machine& machine) {
  const ListingLines lines(text, file);
  MatrixReader(lines, nic, machine).read();
}

}  // namespace rnicsim
