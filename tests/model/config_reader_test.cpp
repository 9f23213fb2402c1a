// SPDX-License-Identifier: MIT
#include "model/config_reader.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "model/config_output.h"
#include "model/json_document.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

enum class Replacement { kLru, kRandom };

struct CacheConfig {
  std::uint32_t entries = 2048;
  std::uint32_t ways = 4;
  Cycles lookup = 4_cycles;
  Replacement replacement = Replacement::kLru;
  void describe(Fields& f) {
    f.field("entries", entries, range(1, 1 << 20).power_of_two(), "number of entries");
    f.field("ways", ways, range(1, 64), "associativity");
    f.field("lookup", lookup, "time of a lookup");
    f.choice("replacement", replacement,
             {{"lru", Replacement::kLru}, {"random", Replacement::kRandom}}, "who is evicted");
    f.check(ways != 0 && entries % ways == 0, "ways", "must divide entries");
  }
};

struct PortConfig {
  std::string name;
  BitRate rate = BitRate::gbps(100);
  void describe(Fields& f) {
    f.required().identifier("name", name, "name of the port");
    f.field("rate", rate, range(BitRate(1'000'000), BitRate::gbps(1600)), "data rate");
  }
};

struct BoxConfig {
  bool on = true;
  std::uint8_t priority = 3;
  std::uint64_t seed = 1;
  double drop = 0;
  std::string title;
  Time delay = 250_ns;
  Bytes mtu = 1024_B;
  Frequency clock = Frequency::mhz(1200);
  Length length = Length::m(3);
  CacheConfig cache;
  std::vector<PortConfig> ports{1};
  std::vector<Time> steps{1_ns, 2_ns};
  std::optional<Bytes> limit;
  std::optional<CacheConfig> second;
  AnyJson note;
  void describe(Fields& f) {
    f.field("on", on, "switched on");
    f.field("priority", priority, range(0, 7), "class");
    f.field("seed", seed, "seed of all generators");
    f.field("drop", drop, range(0.0, 1.0), "probability");
    f.field("title", title, "one line");
    f.field("delay", delay, range(0_ns, 1_ms), "delay");
    f.field("mtu", mtu, one_of(256_B, 1024_B, 4096_B), "path MTU");
    f.field("clock", clock, range(Frequency::mhz(1), Frequency(10'000'000'000)), "clock");
    f.field("length", length, range(Length(0), Length::m(10000)), "cable");
    f.object("cache", cache, "the cache");
    f.list("ports", ports, ListLimits{1, 2, "port"}, "ports");
    f.list("steps", steps, "steps");
    f.optional("limit", limit, range(1_B, 1_MiB), "limit");
    f.optional("second", second, "another cache");
    f.any("note", note, {"boolean", "string", "object"}, "a remark");
  }
};

BoxConfig read(const std::string& text) {
  BoxConfig config;
  read_config(parse_json(text, "x.json"), config);
  return config;
}

/// The message without the file.
std::string failure(const std::string& text) {
  try {
    read(text);
  } catch (const ConfigError& error) {
    const std::string what = error.what();
    CHECK(what.find('\n') == std::string::npos);
    REQUIRE(what.rfind("x.json:", 0) == 0);
    return what.substr(7);
  }
  return "no error";
}

std::string compact(const JsonNode& node) { return to_nlohmann(node).dump(); }

}  // namespace

TEST_CASE("what a file does not name keeps its default") {
  const BoxConfig config = read("{}");
  CHECK(config.on);
  CHECK(config.delay == 250_ns);
  CHECK(config.cache.entries == 2048);
  CHECK(config.ports.size() == 1);
  CHECK_FALSE(config.limit.has_value());
  CHECK(config.note == nullptr);
}

TEST_CASE("every kind of field is read") {
  const BoxConfig config = read(R"({
      "on": false, "priority": 7, "seed": 18446744073709551615, "drop": 0.25, "title": "t",
      "delay": "1 us", "mtu": "4 KiB", "clock": "322.265625 MHz", "length": "50 cm",
      "cache": {"entries": 64, "ways": 8, "lookup": "2 cycles", "replacement": "random"},
      "ports": [{"name": "p0"}, {"name": "p1", "rate": "25 Gb/s"}],
      "steps": ["5 ns"], "limit": "64 KiB", "second": {"ways": 2}, "note": {"a": 1}})");
  CHECK_FALSE(config.on);
  CHECK(config.priority == 7);
  CHECK(config.seed == ~std::uint64_t{0});
  CHECK(config.drop == 0.25);
  CHECK(config.title == "t");
  CHECK(config.delay == 1_us);
  CHECK(config.mtu == 4_KiB);
  CHECK(config.clock == Frequency(322'265'625));
  CHECK(config.length == Length(500));
  CHECK(config.cache.entries == 64);
  CHECK(config.cache.lookup == 2_cycles);
  CHECK(config.cache.replacement == Replacement::kRandom);
  REQUIRE(config.ports.size() == 2);
  CHECK(config.ports[1].name == "p1");
  CHECK(config.ports[0].rate == BitRate::gbps(100));
  CHECK(config.ports[1].rate == BitRate::gbps(25));
  REQUIRE(config.steps.size() == 1);
  CHECK(config.steps[0] == 5_ns);
  CHECK(*config.limit == 64_KiB);
  CHECK(config.second->ways == 2);
  CHECK(config.second->entries == 2048);
  CHECK(config.note->find("a")->text() == "1");
}

TEST_CASE("one element may stand without a list under the singular key") {
  const BoxConfig config = read(R"({"port": {"name": "only"}})");
  REQUIRE(config.ports.size() == 1);
  CHECK(config.ports[0].name == "only");
  CHECK(failure(R"({"port": {"name": "a", "rat": 1}})") ==
        R"(1: port.rat: unknown key, did you mean "rate"?)");
  CHECK(failure(R"({"port": {"name": "a"}, "ports": []})") ==
        R"(1: port: given together with "ports", of which it is short)");
}

TEST_CASE("an unknown key names its place and the nearest known key") {
  CHECK(failure("{\n\"cache\": {\n\"entires\": 5}}") ==
        R"(3: cache.entires: unknown key, did you mean "entries"?)");
  CHECK(failure(R"({"cahce": {}})") == R"(1: cahce: unknown key, did you mean "cache"?)");
  CHECK(failure(R"({"cache": {"banana": 1}})") ==
        "1: cache.banana: unknown key; known here: entries, ways, lookup or replacement");
  CHECK(failure(R"({"ports": [{"name": "a"}, {"Name": "b"}]})") ==
        R"(1: ports.1.Name: unknown key, did you mean "name"?)");
  CHECK(failure(R"({"": 1})").find("1: \"\": unknown key; known here: ") == 0);
}

TEST_CASE("a misspelt key is reported before what follows from it") {
  CHECK(failure(R"({"ports": [{"nme": "a"}]})") ==
        R"(1: ports.0.nme: unknown key, did you mean "name"?)");
}

TEST_CASE("a wrong type is told what was expected") {
  CHECK(failure("[]") == "1: expected an object, found a list");
  CHECK(failure(R"({"on": "yes"})") == R"(1: on: expected true or false, found "yes")");
  CHECK(failure(R"({"on": 1})") == "1: on: expected true or false, found 1");
  CHECK(failure(R"({"priority": "3"})") == R"(1: priority: expected a whole number, found "3")");
  CHECK(failure(R"({"priority": null})") == "1: priority: expected a whole number, found null");
  CHECK(failure(R"({"drop": "1 %"})") == R"(1: drop: expected a number, found "1 %")");
  CHECK(failure(R"({"title": 5})") == "1: title: expected a string, found 5");
  CHECK(failure(R"({"cache": 5})") == "1: cache: expected an object, found 5");
  CHECK(failure(R"({"ports": {}})") == "1: ports: expected a list, found an object");
  CHECK(failure(R"({"ports": [1]})") == "1: ports.0: expected an object, found 1");
  CHECK(failure(R"({"limit": {}})") ==
        R"(1: limit: expected a size such as "4 KiB", found an object)");
  CHECK(failure(R"({"note": 5})") ==
        "1: note: expected a value of type boolean, string or object, found 5");
}

TEST_CASE("a quantity needs its unit") {
  CHECK(
      failure(R"({"delay": 250})") ==
      R"(1: delay: expected a time such as "250 ns", found 250 without a unit (ps, ns, us, ms, s))");
  CHECK(failure(R"({"delay": "250"})") ==
        R"(1: delay: expected a time such as "250 ns", found "250", which has no unit )"
        R"((ps, ns, us, ms, s))");
  CHECK(failure(R"({"delay": "2 KiB"})") ==
        R"(1: delay: expected a time such as "250 ns", found "2 KiB", which has an unknown unit )"
        R"((known: ps, ns, us, ms, s))");
  CHECK(failure(R"({"steps": ["1 ns", "0.5 ps"]})") ==
        R"(1: steps.1: expected a time such as "250 ns", found "0.5 ps", which is not a whole )"
        R"(number of picoseconds)");
  CHECK(failure(R"({"limit": "-1 B"})") ==
        R"(1: limit: expected a size such as "4 KiB", found "-1 B", which has a sign)");
  CHECK(failure(R"({"length": "99999999999999999 km"})") ==
        R"(1: length: expected a length such as "3 m", found "99999999999999999 km", which is too )"
        R"(large (at most 1844674407370955161 mm))");
}

TEST_CASE("a value beyond its limits is told the limits with units") {
  CHECK(failure(R"({"priority": 8})") == "1: priority: expected 0 to 7, found 8");
  CHECK(failure(R"({"priority": -1})") == "1: priority: expected 0 to 7, found -1");
  CHECK(failure(R"({"priority": 300})") == "1: priority: expected 0 to 7, found 300");
  CHECK(failure(R"({"priority": 1.5})") == "1: priority: expected a whole number, found 1.5");
  CHECK(failure(R"({"priority": 1e2})") == "1: priority: expected a whole number, found 1e2");
  CHECK(failure(R"({"seed": 18446744073709551616})") ==
        "1: seed: expected a whole number from 0 to 18446744073709551615, found "
        "18446744073709551616");
  CHECK(failure(R"({"seed": -1})") == "1: seed: expected a whole number, not negative, found -1");
  CHECK(failure(R"({"drop": 1.5})") == "1: drop: expected 0 to 1, found 1.5");
  CHECK(failure(R"({"delay": "2 ms"})") == R"(1: delay: expected 0 ps to 1 ms, found "2 ms")");
  CHECK(failure(R"({"mtu": "1500 B"})") ==
        R"(1: mtu: expected 256 B, 1 KiB or 4 KiB, found "1500 B")");
  CHECK(failure(R"({"clock": "0 Hz"})") == R"(1: clock: expected 1 MHz to 10 GHz, found "0 Hz")");
  CHECK(failure(R"({"length": "11 km"})") == R"(1: length: expected 0 mm to 10 km, found "11 km")");
  CHECK(failure(R"({"ports": [{"name": "a", "rate": "0 Gb/s"}]})") ==
        R"(1: ports.0.rate: expected 1 Mb/s to 1.6 Tb/s, found "0 Gb/s")");
  CHECK(failure(R"({"cache": {"entries": 3}})") ==
        "1: cache.entries: expected a power of two from 1 to 1048576, found 3");
  CHECK(failure(R"({"limit": "2 MiB"})") == R"(1: limit: expected 1 B to 1 MiB, found "2 MiB")");
}

TEST_CASE("choices, names, list sizes and required fields are checked") {
  CHECK(failure(R"({"cache": {"replacement": "lur"}})") ==
        R"(1: cache.replacement: expected "lru" or "random", found "lur", did you mean "lru"?)");
  CHECK(failure(R"({"cache": {"replacement": 1}})") ==
        R"(1: cache.replacement: expected "lru" or "random", found 1)");
  for (const char* name : {"", "1a", "a b", "a.b", "*", "-"}) {
    CHECK(failure(std::string(R"({"ports": [{"name": ")") + name + R"("}]})")
              .find("1: ports.0.name: expected a letter followed by letters, digits, _ or -, "
                    "found ") == 0);
  }
  CHECK(failure(R"({"ports": []})") == "1: ports: expected a list of 1 to 2, found 0");
  CHECK(failure("{\n\"ports\": [\n{}]}") ==
        "3: ports.0.name: missing; it must be given (name of the port)");
}

TEST_CASE("a check between fields is placed at the field that it names") {
  CHECK(failure("{\"cache\": {\"entries\": 64,\n\"ways\": 3}}") ==
        "2: cache.ways: must divide entries");
  CHECK(failure("{\n\"cache\": {\"entries\": 2}}") == "2: cache.ways: must divide entries");
}

TEST_CASE("input cannot break the one line or make it endless") {
  CHECK(failure("{\"a\\nb\": 1}").find("1: a\\x0ab: unknown key") == 0);
  CHECK(failure("{\"on\": \"\\u0000\"}") == "1: on: expected true or false, found \"\\x00\"");
  CHECK(failure("{\"on\": \"" + std::string(5000, 'x') + "\"}").size() < 150);
  CHECK(failure("{\"on\": " + std::string(5000, '1') + "}").size() < 300);
}

TEST_CASE("an error carries its parts") {
  try {
    read("{\n\"cahce\": 1}");
    FAIL("no error");
  } catch (const ConfigError& error) {
    CHECK(error.detail().file == "x.json");
    CHECK(error.detail().line == 2);
    CHECK(error.detail().path == "cahce");
    CHECK(error.detail().nearest == "cache");
  }
}

TEST_CASE("nearest words are found by edit distance, and only near ones") {
  const std::vector<std::string> words = {"to", "size", "count", "queue_pairs"};
  CHECK(nearest_of("szie", words) == "size");
  CHECK(nearest_of("cuont", words) == "count");
  CHECK(nearest_of("queuepair", words) == "queue_pairs");
  CHECK(nearest_of("banana", words).empty());
  CHECK(nearest_of("", words).empty());
  CHECK(nearest_of(std::string(100000, 'q'), words).empty());
}

TEST_CASE("the dump holds every value with its unit and reads back to itself") {
  BoxConfig config = read(R"({"port": {"name": "p"}, "second": {}, "note": true, "drop": 0.1,
                              "clock": "322.265625 MHz"})");
  const JsonNode dump = dump_config(config);
  CHECK(compact(dump) ==
        R"({"on":true,"priority":3,"seed":1,"drop":0.1,"title":"","delay":"250 ns","mtu":"1 KiB",)"
        R"("clock":"322.265625 MHz","length":"3 m","cache":{"entries":2048,"ways":4,)"
        R"("lookup":"4 cycles","replacement":"lru"},"ports":[{"name":"p","rate":"100 Gb/s"}],)"
        R"("steps":["1 ns","2 ns"],"second":{"entries":2048,"ways":4,"lookup":"4 cycles",)"
        R"("replacement":"lru"},"note":true})");
  BoxConfig again;
  read_config(dump, again);
  CHECK(compact(dump_config(again)) == compact(dump));
}

TEST_CASE("the flat list gives path, value, unit, limits and text") {
  BoxConfig config;
  const std::vector<ConfigEntry> entries = list_config(config, "box");
  REQUIRE(entries.size() == 17);
  CHECK(entries[5].path == "box.delay");
  CHECK(entries[5].value == "250");
  CHECK(entries[5].unit == "ns");
  CHECK(entries[5].limits == "0 ps to 1 ms");
  CHECK(entries[5].doc == "delay");
  CHECK(entries[12].path == "box.cache.replacement");
  CHECK(entries[12].value == "lru");
  CHECK(entries[12].unit.empty());
  CHECK(entries[12].limits == "lru or random");
  CHECK(entries[14].path == "box.ports.0.rate");
  CHECK(entries[16].path == "box.steps.1");
}

TEST_CASE("the schema has types, limits, defaults, required keys and no room for others") {
  BoxConfig config;
  const nlohmann::ordered_json schema = to_nlohmann(config_schema(config));
  const auto& fields = schema.at("properties");
  CHECK(schema.at("additionalProperties") == false);
  CHECK_FALSE(schema.contains("required"));
  CHECK(fields.at("$comment") == true);
  CHECK(fields.at("on").dump() ==
        R"({"description":"switched on","type":"boolean","default":true})");
  CHECK(fields.at("priority").dump() ==
        R"j({"description":"class (0 to 7)","type":"integer","minimum":0,"maximum":7,)j"
        R"j("default":3})j");
  CHECK(fields.at("delay").dump() ==
        R"j({"description":"delay (0 ps to 1 ms)","type":"string",)j"
        R"("pattern":"^[0-9]+(\\.[0-9]+)? ?(ps|ns|us|ms|s)$","default":"250 ns"})");
  CHECK(fields.at("cache").at("properties").at("replacement").dump() ==
        R"({"description":"who is evicted","enum":["lru","random"],"default":"lru"})");
  CHECK(fields.at("ports").at("minItems") == 1);
  CHECK(fields.at("ports").at("items").at("required").dump() == R"(["name"])");
  CHECK(fields.at("port").at("required").dump() == R"(["name"])");
  CHECK(fields.at("steps").at("items").at("type") == "string");
  CHECK_FALSE(fields.at("limit").contains("default"));
  CHECK(fields.at("note").at("type").dump() == R"(["boolean","string","object"])");
}
