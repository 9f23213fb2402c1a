// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_plan.h"

#include <catch2/catch.hpp>

#include "model/config_error.h"

using namespace rnicsim;

namespace {

using Texts = std::vector<std::string>;

constexpr const char* kMetrics =
    R"("metrics": [{"name": "m", "metric": "workload.w0.goodput", "better": "more"}])";

StudyPlan plan(const std::string& axes, const std::string& more = "") {
  const JsonNode document = parse_json(
      "{\"base\": \"x\", " + more + "\"axes\": [" + axes + "],\n" + kMetrics + "}", "s.json");
  StudySpec spec;
  read_config(document, spec);
  return {document, spec};
}

/// What each point changes: "path=value path=value".
Texts changes(const StudyPlan& plan) {
  Texts all;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    std::string text;
    for (const JsonNode& change : plan.changes(plan.point(i)))
      text += (text.empty() ? "" : " ") + change.key() + '=' + change.text();
    all.push_back(text);
  }
  return all;
}

std::string failure(const std::string& axes, const std::string& more = "") {
  try {
    plan(axes, more);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

constexpr const char* kA = R"({"path": "a", "values": [1, 2]})";
constexpr const char* kB = R"({"path": "x.b", "values": ["p", "q", "r"]})";

}  // namespace

TEST_CASE("Axes are crossed with the last one fastest") {
  const StudyPlan made = plan(std::string(kA) + ',' + kB);
  CHECK(changes(made) ==
        Texts{"a=1 x.b=p", "a=1 x.b=q", "a=1 x.b=r", "a=2 x.b=p", "a=2 x.b=q", "a=2 x.b=r"});
  CHECK(made.label(made.point(4), 1) == "q");
}

TEST_CASE("What is set for all points comes before the axes") {
  CHECK(changes(plan(kA, R"("set": {"z": true},)")) == Texts{"z=true a=1", "z=true a=2"});
}

TEST_CASE("Zipped axes go along side by side and are one dimension") {
  const StudyPlan made = plan(
      R"({"zip": [{"path": "a", "values": [1, 2]}, {"paths": ["b", "c"], "values": [3, 4]}]})");
  CHECK(changes(made) == Texts{"a=1 b=3 c=3", "a=2 b=4 c=4"});
  REQUIRE(made.dimensions().size() == 1);
  CHECK(made.dimensions()[0].name == "a+b");
  CHECK(made.position_label(0, 1) == "2 / 4");
}

TEST_CASE("Crossed axes may stand within a zip") {
  const StudyPlan made = plan(
      R"({"zip": [{"path": "n", "values": [1, 2, 3, 4]},
                  {"cross": [{"path": "a", "values": [1, 2]}, {"path": "b", "values": [5, 6]}]}]})");
  CHECK(changes(made) == Texts{"n=1 a=1 b=5", "n=2 a=1 b=6", "n=3 a=2 b=5", "n=4 a=2 b=6"});
}

TEST_CASE("Repeats stand behind one another and count from 0") {
  const StudyPlan made = plan(kA, "\"repeats\": 3,");
  REQUIRE(made.size() == 6);
  CHECK(made.point(4).repeat == 1);
  CHECK(made.point(4).positions == std::vector<std::size_t>{1});
}

TEST_CASE("Presets are an axis of what has one") {
  CHECK(changes(plan(R"({"path": "hosts.*.nic", "presets": ["p", "q"]})")) ==
        Texts{"hosts.*.nic.preset=p", "hosts.*.nic.preset=q"});
}

TEST_CASE("Ranges are axes") {
  CHECK(changes(plan(R"({"path": "a", "linear": {"from": 1, "to": 3, "steps": 3}})")) ==
        Texts{"a=1", "a=2", "a=3"});
  CHECK(changes(plan(R"({"path": "a", "log": {"from": "1 KiB", "to": "4 KiB", "steps": 3}})")) ==
        Texts{"a=1 KiB", "a=2 KiB", "a=4 KiB"});
}

TEST_CASE("An axis is called as its file says or by the last word of its path") {
  CHECK(plan(R"({"path": "hosts.A.nics.0.tags", "values": [1]})").axes()[0].name == "tags");
  CHECK(plan(R"({"path": "hosts.A.nics.0", "presets": ["p"]})").axes()[0].name == "nics");
  CHECK(plan(R"({"name": "t", "path": "hosts.A.tags", "values": [1]})").axes()[0].name == "t");
}

TEST_CASE("A filter chooses points by what their axes say") {
  const StudyPlan made = plan(std::string(kA) + ',' + kB, "\"repeats\": 2,");
  CHECK(made.matching("").size() == 12);
  CHECK(made.matching("a = 2 and b != 'q' and repeat = 1") == std::vector<std::size_t>{7, 11});
  CHECK_THROWS_WITH(made.matching("c = 1"), "--filter: no axis \"c\", did you mean \"a\"?");
  CHECK_THROWS_WITH(made.matching("a ="), "--filter: \"a =\": ends too early");
}

TEST_CASE("A filter names a value as it is shown, too") {
  const StudyPlan made = plan(R"({"path": "p", "linear": {"from": 0.1, "to": 0.5, "steps": 5}})");
  REQUIRE(made.label(made.point(2), 0) == "0.30000000000000004");
  REQUIRE(made.shown(made.point(2), 0) == "0.3");
  for (const char* filter : {"p = 0.3", "p = '0.3'", "0.3 == p", "p = 0.30000000000000004"})
    CHECK(made.matching(filter) == std::vector<std::size_t>{2});
  CHECK(made.matching("p != 0.3") == std::vector<std::size_t>{0, 1, 3, 4});
  CHECK(made.matching("p <= 0.3") == std::vector<std::size_t>{0, 1, 2});
  CHECK(made.matching("p > 0.3") == std::vector<std::size_t>{3, 4});
  const StudyPlan close =
      plan(R"({"path": "p", "linear": {"from": 1.0000001, "to": 1.0000003, "steps": 2}})");
  CHECK(close.matching("p = 1").empty());
  CHECK(close.matching("p = 1.0000003") == std::vector<std::size_t>{1});
}

TEST_CASE("A zip may repeat a value, but no position") {
  const StudyPlan made =
      plan(R"({"zip": [{"path": "g", "values": [3, 3, 4]}, {"path": "l", "values": [8, 16, 8]}]})");
  CHECK(changes(made) == Texts{"g=3 l=8", "g=3 l=16", "g=4 l=8"});
  CHECK(made.matching("g = 3") == std::vector<std::size_t>{0, 1});
  CHECK(made.position_label(0, 1) == "3 / 16");
  CHECK(plan(R"({"zip": [{"path": "g", "values": [0.30000000000000004, 0.30000000000000004]},
                         {"path": "l", "values": [1, 2]}]})")
            .position_label(0, 1) == "0.3 / 2");
  CHECK(failure(R"({"zip": [{"path": "g", "values": [3, 4, 3]},
                            {"path": "l", "values": ["1 KiB", "1 KiB", "1024 B"]}]})") ==
        "s.json:1: axes.0: has the same value twice: \"3 / 1 KiB\" and \"3 / 1024 B\"");
}

TEST_CASE("An axis that a later one would overwrite is refused") {
  constexpr const char* kPages = R"({"path": "hosts.0.memory.page_size", "values": [1, 2]})";
  const auto with = [&](const std::string& path) {
    return std::string(kPages) + R"(,{"name": "q", "path": ")" + path + R"(", "values": [3, 4]})";
  };
  const std::string refused =
      "s.json:1: axes.1: sets \"hosts.0.memory.page_size\" again, which is axis \"page_size\"";
  CHECK(failure(with("hosts.0.memory.page_size")) == refused);
  CHECK(failure(with("hosts.*.memory.page_size")) == refused);
  CHECK(failure(with("hosts.0.memory.*")) == refused);
  CHECK(failure(with("hosts.1.memory.page_size")) == "no error");
  CHECK(failure(with("hosts.*.memory.page")) == "no error");
  CHECK(failure(with("hosts.*.memory")) == "no error");
  // Other hosts keep what the first says.
  CHECK(failure(R"({"name": "all", "path": "hosts.*.tags", "values": [1, 2]},
                   {"path": "hosts.0.tags", "values": [3, 4]})") == "no error");
  CHECK(failure(R"({"zip": [{"path": "a", "values": [1, 2]}, )"
                R"({"name": "b", "path": "a", "values": [3, 4]}]})") ==
        "s.json:1: axes.0.zip.1: sets \"a\" again, which is axis \"a\"");
}

TEST_CASE("What makes no study is refused where it stands") {
  CHECK(failure(R"({"path": "a"})") ==
        "s.json:1: axes.0: needs one of \"values\", \"linear\", \"log\" and \"presets\"");
  CHECK(failure(R"({"values": [1]})") == "s.json:1: axes.0: has neither \"path\" nor \"paths\"");
  CHECK(failure(R"({"path": "a", "values": []})") == "s.json:1: axes.0.values: is empty");
  CHECK(failure(R"({"path": "a", "values": [1, 2, 1]})") ==
        "s.json:1: axes.0: has the value \"1\" twice");
  CHECK(failure(R"({"path": "a", "values": ["1 KiB", "2 KiB", "1024 B"]})") ==
        "s.json:1: axes.0: has the same value twice: \"1 KiB\" and \"1024 B\"");
  CHECK(failure(std::string(kA) + ',' + kA) ==
        "s.json:1: axes.1: two axes are called \"a\"; give one a \"name\"");
  CHECK(failure(R"({"zip": [{"path": "a", "values": [1, 2]}, {"path": "b", "values": [3]}]})") ==
        "s.json:1: axes.0.zip.1: has 1 values and those before it 2: a zip needs as many of each");
  CHECK(failure(R"({"path": "a", "zip": [{"path": "b", "values": [3]}]})") ==
        "s.json:1: axes.0: has \"zip\" and is an axis itself; choose one");
  CHECK(failure(R"({"path": "a", "log": {"from": 0, "to": 3, "steps": 3}})") ==
        "s.json:1: axes.0.log.from: expected more than 0, found 0");
  CHECK(failure(R"({"path": "seed", "values": [1, 2]})", "\"repeats\": 2,") ==
        "s.json:1: repeats: an axis sets the seed already");
}
