// SPDX-License-Identifier: MIT
#include "scenarios/engine/flows/flow_file.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "fabric/text_lines.h"
#include "model/quantity.h"

namespace rnicsim {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;
constexpr std::uint64_t kMaxPriority = 7;
constexpr std::uint64_t kMaxId = 1'000'000'000;

class HostIds {
 public:
  HostIds(const TextLines& lines, const std::vector<std::uint32_t>& end_points)
      : lines_(lines), end_points_(end_points) {}

  std::uint32_t end_point(std::uint64_t id) const {
    if (id >= end_points_.size() || end_points_[id] == Flow::kNone)
      throw lines_.error("", "no host " + std::to_string(id) + ": " + known());
    return end_points_[id];
  }

 private:
  std::string known() const {
    const auto hosts =
        end_points_.size() -
        static_cast<std::size_t>(std::count(end_points_.begin(), end_points_.end(), Flow::kNone));
    return hosts == end_points_.size() ? "ids are 0 to " + std::to_string(hosts - 1)
                                       : std::to_string(hosts) + " ids are hosts";
  }

  const TextLines& lines_;
  const std::vector<std::uint32_t>& end_points_;
};

std::string both_counts(const char* what, std::uint64_t said, int line, std::uint64_t found) {
  return "line " + std::to_string(line) + " says " + std::to_string(said) + ' ' + what +
         ", the body has " + std::to_string(found);
}

class HpccFlowReader {
 public:
  HpccFlowReader(std::string_view text, const std::string& file,
                 const std::vector<std::uint32_t>& end_points)
      : lines_(text, file), hosts_(lines_, end_points) {}

  FlowPlan run() {
    lines_.next_with_words();
    header_ = lines_.line();
    if (lines_.words().size() != 1)
      throw lines_.error("the number of flows, alone on its line",
                         std::to_string(lines_.words().size()) + " words");
    const std::uint64_t said = lines_.whole_number(0, kMaxFlows, "number of flows");
    std::uint64_t found = 0;
    while (lines_.next_with_words() && is_flow())
      if (found++ < said) read_flow();
    if (found != said) throw lines_.error("", both_counts("flows", said, header_, found));
    if (plan_.flows.empty()) throw lines_.error("", "there are no flows");
    count_from_earliest();
    return std::move(plan_);
  }

 private:
  bool is_flow() const {
    const auto& words = lines_.words();
    return words.size() >= 2 && TextLines::is_whole_number(words[0]) &&
           TextLines::is_whole_number(words[1]);
  }

  void read_flow() {
    const auto& words = lines_.words();
    if (words.size() != 6)
      throw lines_.error("a flow: src dst pg dport size_bytes start_seconds",
                         std::to_string(words.size()) + " words");
    Flow flow;
    flow.source = hosts_.end_point(lines_.whole_number(0, kMaxId, "id of a host"));
    flow.destination = hosts_.end_point(lines_.whole_number(1, kMaxId, "id of a host"));
    if (flow.source == flow.destination) throw lines_.error("", "a flow from a host to itself");
    flow.priority =
        static_cast<std::uint8_t>(lines_.whole_number(2, kMaxPriority, "a priority group"));
    flow.port = static_cast<std::uint16_t>(lines_.whole_number(3, UINT16_MAX, "a port"));
    flow.bytes = Bytes(lines_.whole_number(4, kMaxBytes, "a size in bytes"));
    if (flow.bytes == Bytes(0)) throw lines_.error("a size of at least 1 B", "0");
    flow.start = seconds(5);
    plan_.flows.push_back(flow);
  }

  Time seconds(std::size_t i) const {
    Time time;
    std::string problem;
    const std::string word(lines_.words()[i]);
    if (!parse_quantity(word + " s", time, problem))
      throw lines_.error("a start in seconds", in_quotes(word));
    return time;
  }

  void count_from_earliest() {
    Time earliest = Time::never();
    for (const Flow& flow : plan_.flows) earliest = std::min(earliest, flow.start);
    for (Flow& flow : plan_.flows) flow.start -= earliest;
  }

  TextLines lines_;
  HostIds hosts_;
  int header_ = 0;
  FlowPlan plan_;
};

class HtsimFlowReader {
 public:
  HtsimFlowReader(std::string_view text, const std::string& file,
                  const std::vector<std::uint32_t>& end_points)
      : lines_(text, file), hosts_(lines_, end_points), end_points_(end_points) {}

  FlowPlan run() {
    while (lines_.next_with_words()) {
      if (lines_.words()[0][0] == '#') continue;
      read_line();
    }
    check_counts();
    check_triggers();
    return std::move(plan_);
  }

 private:
  struct Count {
    std::optional<std::uint64_t> said;
    int line = 0;
  };
  struct Trigger {
    std::uint32_t index = 0;
    int line = 0;  ///< of its definition; 0: it has only been used
    int used = 0;  ///< first line that names it
    bool barrier = false;
    std::uint64_t pulls = 0;
    std::uint64_t begins = 0;
  };

  void read_line() {
    const std::string_view word = lines_.words()[0];
    if (word == "Nodes")
      read_count(nodes_);
    else if (word == "Connections")
      read_count(connections_);
    else if (word == "Triggers")
      read_count(said_triggers_);
    else if (word == "Failures")
      read_failures();
    else if (word == "trigger")
      read_trigger();
    else if (word.find("->") != std::string_view::npos)
      read_connection();
    else
      throw lines_.error("Nodes, Connections, Triggers, Failures, trigger or src->dst",
                         in_quotes(word));
  }

  void read_count(Count& count) {
    if (count.said)
      throw lines_.error("", in_quotes(lines_.words()[0]) + " stands in line " +
                                 std::to_string(count.line) + " already");
    words_are(2);
    count = {lines_.whole_number(1, kMaxFlows, "a count"), lines_.line()};
    if (&count == &nodes_ && *count.said > end_points_.size())
      throw lines_.error("", std::to_string(*count.said) + " nodes, but the scenario has " +
                                 std::to_string(end_points_.size()));
  }

  void read_failures() {
    Count failures;
    read_count(failures);
    if (*failures.said != 0)
      throw lines_.error("no failures: fabric.failures has them", std::to_string(*failures.said));
  }

  void words_are(std::size_t count) const {
    if (lines_.words().size() != count)
      throw lines_.error(std::to_string(count) + " words", std::to_string(lines_.words().size()));
  }

  std::uint32_t id(std::size_t word, const char* what) const {
    const std::uint64_t value = lines_.whole_number(word, kMaxId, what);
    if (value == 0) throw lines_.error(std::string(what) + " above 0", "0");
    return static_cast<std::uint32_t>(value);
  }

  Trigger& trigger(std::size_t word) {
    Trigger& trigger = triggers_[id(word, "id of a trigger")];
    if (trigger.used == 0 && trigger.line == 0) {
      trigger.index = static_cast<std::uint32_t>(plan_.triggers.size());
      plan_.triggers.emplace_back();
    }
    if (trigger.used == 0) trigger.used = lines_.line();
    return trigger;
  }

  /// trigger id K (oneshot|multishot|barrier) [count n]
  void read_trigger() {
    const auto& words = lines_.words();
    if (words.size() < 4 || words[1] != "id")
      throw lines_.error("trigger id K oneshot, multishot or barrier",
                         std::to_string(words.size()) + " words");
    Trigger& trigger = this->trigger(2);
    if (trigger.line != 0)
      throw lines_.error("", "trigger " + std::string(words[2]) + " stands in line " +
                                 std::to_string(trigger.line) + " already");
    trigger.line = lines_.line();
    FlowTrigger& made = plan_.triggers[trigger.index];
    trigger.barrier = words[3] == "barrier";
    made.one_by_one = words[3] == "multishot";
    if (!trigger.barrier && !made.one_by_one && words[3] != "oneshot")
      throw lines_.error("oneshot, multishot or barrier", in_quotes(words[3]));
    words_are(trigger.barrier ? 6 : 4);
    if (!trigger.barrier) return;
    if (words[4] != "count") throw lines_.error("count", in_quotes(words[4]));
    made.needed = id(5, "a count");
  }

  void read_connection() {
    Flow flow;
    read_ends(flow);
    bool begins = false;
    bool sized = false;
    const auto& words = lines_.words();
    for (std::size_t i = 1; i < words.size(); i += 2) {
      if (words[i] == "start" || words[i] == "trigger") {
        if (begins) throw lines_.error("one of start and trigger", "both");
        begins = true;
      }
      sized = sized || words[i] == "size";
      read_option(flow, i);
    }
    if (!begins) throw lines_.error("start or trigger", "neither");
    if (!sized) throw lines_.error("a size: a connection without one never ends", "none");
    plan_.flows.push_back(flow);
  }

  void read_ends(Flow& flow) const {
    const std::string_view word = lines_.words()[0];
    const std::size_t arrow = word.find("->");
    flow.source = end_point(node(word.substr(0, arrow)));
    flow.destination = end_point(node(word.substr(arrow + 2)));
    if (flow.source == flow.destination)
      throw lines_.error("", "a connection from a host to itself");
  }

  std::uint64_t node(std::string_view digits) const {
    std::uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end || value > kMaxId)
      throw lines_.error("src->dst", in_quotes(lines_.words()[0]));
    return value;
  }

  std::uint32_t end_point(std::uint64_t node) const {
    if (nodes_.said && node >= *nodes_.said)
      throw lines_.error("", "node " + std::to_string(node) + ", but line " +
                                 std::to_string(nodes_.line) + " says " +
                                 std::to_string(*nodes_.said) + " nodes");
    return hosts_.end_point(node);
  }

  /// A key and its value.
  void read_option(Flow& flow, std::size_t i) {
    const std::string_view key = lines_.words()[i];
    if (key == "id") {
      id(i + 1, "id of a connection");
    } else if (key == "start") {
      const std::uint64_t most = static_cast<std::uint64_t>(Time::s(1000).ps());
      flow.start = Time::ps(
          static_cast<std::int64_t>(lines_.whole_number(i + 1, most, "a start in picoseconds")));
    } else if (key == "trigger") {
      Trigger& trigger = this->trigger(i + 1);
      ++trigger.begins;
      flow.trigger = trigger.index;
    } else if (key == "size") {
      flow.bytes = Bytes(lines_.whole_number(i + 1, kMaxBytes, "a size in bytes"));
      if (flow.bytes == Bytes(0)) throw lines_.error("a size of at least 1 B", "0");
    } else if (key == "prio") {
      flow.priority =
          static_cast<std::uint8_t>(lines_.whole_number(i + 1, kMaxPriority, "a priority"));
    } else if (key == "send_done_trigger" || key == "recv_done_trigger") {
      Trigger& trigger = this->trigger(i + 1);
      ++trigger.pulls;
      (key[0] == 's' ? flow.on_sent : flow.on_received) = trigger.index;
    } else {
      throw lines_.error("id, start, trigger, size, prio, send_done_trigger or recv_done_trigger",
                         in_quotes(key));
    }
  }

  void check_counts() const {
    if (!nodes_.said) throw lines_.error("Nodes N", "none");
    if (!connections_.said) throw lines_.error("Connections M", "none");
    if (*connections_.said != plan_.flows.size())
      throw lines_.error("", both_counts("connections", *connections_.said, connections_.line,
                                         plan_.flows.size()));
    std::uint64_t defined = 0;
    for (const auto& each : triggers_) defined += each.second.line != 0 ? 1 : 0;
    if (defined != said_triggers_.said.value_or(0))
      throw lines_.error(
          "", said_triggers_.said
                  ? both_counts("triggers", *said_triggers_.said, said_triggers_.line, defined)
                  : "no line says how many triggers there are, the body has " +
                        std::to_string(defined));
    if (plan_.flows.empty()) throw lines_.error("", "there are no connections");
  }

  void check_triggers() const {
    for (const auto& [id, trigger] : triggers_) {
      const std::string name = "trigger " + std::to_string(id);
      const int line = trigger.line != 0 ? trigger.line : trigger.used;
      if (trigger.line == 0) throw lines_.error_at(line, "", name + " is used and never defined");
      const FlowTrigger& made = plan_.triggers[trigger.index];
      const std::uint64_t needed = made.one_by_one ? trigger.begins : made.needed;
      const bool good = made.one_by_one ? trigger.pulls >= needed : trigger.pulls == needed;
      if (trigger.begins != 0 && !good)
        throw lines_.error_at(line, "",
                              name + " needs " + std::to_string(needed) + " pulls, and " +
                                  std::to_string(trigger.pulls) + " connections pull it");
    }
  }

  TextLines lines_;
  HostIds hosts_;
  const std::vector<std::uint32_t>& end_points_;
  Count nodes_;
  Count connections_;
  Count said_triggers_;
  std::map<std::uint32_t, Trigger> triggers_;  ///< by id
  FlowPlan plan_;
};

/// A count begins an HPCC flow file, a word or a comment htsim's.
bool begins_with_number(std::string_view text, const std::string& file) {
  TextLines lines(text, file);
  return lines.next_with_words() && TextLines::is_whole_number(lines.words()[0]);
}

}  // namespace

FlowPlan read_flow_file(std::string_view text, const std::string& file,
                        const std::vector<std::uint32_t>& end_points) {
  if (begins_with_number(text, file)) return HpccFlowReader(text, file, end_points).run();
  return HtsimFlowReader(text, file, end_points).run();
}

}  // namespace rnicsim
