// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "model/config_error.h"

using namespace rnicsim;

namespace {

namespace fs = std::filesystem;

constexpr const char* kBase =
    R"({"hosts": [{"name": "A"}, {"name": "B"}], "seed": 7,
        "workload": [{"name": "w0", "from": "A", "to": "B", "size": "64 B"}],
        "expect": [{"violation": "lossless_drop", "at_least": 0}]})";

/// A folder with a base and a study in it.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("study_file_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
    write("base.json", kBase);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
  }
  StudyFile study(const std::string& axes, const std::string& more = "") const {
    write("s.json",
          "{\"base\": \"base.json\", \"axes\": [" + axes + "], " + more +
              R"("metrics": [{"name": "m", "metric": "workload.w0.goodput", "better": "more"}]})");
    return {(path_ / "s.json").string(), DataFolder("scenarios")};
  }
  std::string failure(const std::string& axes, const std::string& more = "") const {
    try {
      study(axes, more);
    } catch (const ConfigError& error) {
      return error.detail().path + ": " + error.detail().found;
    }
    return "no error";
  }

 private:
  fs::path path_;
};

constexpr const char* kSizes = R"({"path": "workload.w0.size", "values": ["1 KiB", "2 KiB"]})";
constexpr const char* kCost =
    R"("cost": {"expression": "hosts.B.nic.translation_cache.entries * 16 + workload.w0.size"},)";

}  // namespace

TEST_CASE("A point is the base with the point's values in it") {
  StudyFile study = Folder().study(kSizes, R"("set": {"workload.w0.count": 5},)");
  const Scenario scenario = study.scenario_at(study.plan().point(1));
  CHECK(scenario.workload[0].size == Bytes(2048));
  CHECK(scenario.workload[0].count == 5);
  CHECK(scenario.seed == 7);
  CHECK(study.expected_violations() == std::vector<std::string>{"lossless_drop"});
}

TEST_CASE("Repeats have the base's seed and those after it") {
  StudyFile study = Folder().study(kSizes, "\"repeats\": 2,");
  CHECK(study.scenario_at(study.plan().point(2)).seed == 7);
  CHECK(study.scenario_at(study.plan().point(3)).seed == 8);
}

TEST_CASE("Values that do not go together make a point that cannot be read, not a bad study") {
  StudyFile study = Folder().study(R"({"path": "workload.w0.count", "values": [1, "many"]})");
  CHECK(study.scenario_at(study.plan().point(0)).workload[0].count == 1);
  CHECK_THROWS_AS(study.scenario_at(study.plan().point(1)), ConfigError);
}

TEST_CASE("A key is that of the values in force, not of where the point stands") {
  const Folder folder;
  StudyFile two = folder.study(kSizes);
  StudyFile three =
      folder.study(R"({"path": "workload.w0.size", "values": ["512 B", "1 KiB", "2048 B"]})");
  const auto key = [](StudyFile& study, std::size_t point) {
    return key_of(study.scenario_at(study.plan().point(point)));
  };
  CHECK(key(two, 0).size() == 32);
  CHECK(key(two, 0) != key(two, 1));
  CHECK(key(two, 0) == key(three, 1));
  CHECK(key(two, 1) == key(three, 2));
}

TEST_CASE("The cost is calculated from what is in force at the point") {
  StudyFile study = Folder().study(kSizes, kCost);
  const Scenario scenario = study.scenario_at(study.plan().point(1));
  const double entries = scenario.hosts[1].nics[0].config.translation_cache.geometry.entries;
  CHECK(study.cost_of(scenario) == entries * 16 + 2048);
}

TEST_CASE("A study with a fault of its own is refused before anything runs") {
  const Folder folder;
  CHECK(folder.failure(kSizes, R"("cost": {"expression": "hosts.B.nic.tables * 2"},)") ==
        "cost.expression: no setting \"hosts.B.nic.tables\" is in force");
  CHECK(folder.failure(kSizes, R"("cost": {"name": "repeat", "expression": "1"},)") ==
        "cost.name: \"repeat\" is already the name of another column");
  CHECK(folder.failure(kSizes, R"("set": {"workload.w0.sise": 5},)").find("unknown key") !=
        std::string::npos);
  CHECK(folder.failure(kSizes, R"("variant": "other",)") == "variants: unknown variant \"other\"");
}
