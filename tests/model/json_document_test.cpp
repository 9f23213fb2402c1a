// SPDX-License-Identifier: MIT
#include "model/json_document.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "model/json_path.h"

using namespace rnicsim;

namespace {

JsonNode parse(const std::string& text) { return parse_json(text, "x.json"); }

std::string compact(const JsonNode& node) { return to_nlohmann(node).dump(); }

std::string parse_failure(const std::string& text) {
  try {
    parse(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string merged(const std::string& target, const std::string& patch) {
  JsonNode node = parse(target);
  merge_patch(node, parse(patch));
  return compact(node);
}

std::string after_set(const std::string& target, const std::string& path,
                      const std::string& value) {
  JsonNode node = parse(target);
  try {
    set_path(node, path, parse_json(value, "--set"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return compact(node);
}

}  // namespace

TEST_CASE("a document keeps its order and its numbers as written") {
  const JsonNode node = parse(R"({"z": 1, "a": [true, null, "t"], "m": {"x": 1.50}})");
  CHECK(compact(node) == R"({"z":1,"a":[true,null,"t"],"m":{"x":1.5}})");
  CHECK(node.find("m")->find("x")->text() == "1.50");
  CHECK(node.find("none") == nullptr);
  CHECK(parse("123456789012345678901234567890").text() == "123456789012345678901234567890");
  CHECK(parse("18446744073709551615").text() == "18446744073709551615");
  CHECK(parse("-3").text() == "-3");
}

TEST_CASE("every node knows its file and the line of its own text") {
  const JsonNode node = parse(
      "{\n"
      "  \"a\": 1\n"
      ",\n"
      "  \"b\": [\n"
      "    10,\n"
      "    20\n"
      "\n"
      "  ], \"c\": {\n"
      "    \"d\": \"x\",\r\n"
      "    \"e\": false }\n"
      "}\n");
  CHECK(node.line() == 1);
  CHECK(node.file() == "x.json");
  CHECK(node.find("a")->line() == 2);
  CHECK(node.find("b")->line() == 4);
  CHECK(node.find("b")->children()[0].line() == 5);
  CHECK(node.find("b")->children()[1].line() == 6);
  CHECK(node.find("c")->line() == 8);
  CHECK(node.find("c")->find("d")->line() == 9);
  CHECK(node.find("c")->find("e")->line() == 10);
  CHECK(node.find("c")->find("e")->file() == "x.json");
}

TEST_CASE("comments are dropped anywhere, the schema reference at the top") {
  CHECK(compact(parse(R"({"$schema": "s", "$comment": {"x": [1]}, "a": {"$comment": 1, "b": 2},
                          "l": [{"$comment": "c"}]})")) == R"({"a":{"b":2},"l":[{}]})");
  CHECK(compact(parse(R"({"a": {"$schema": "s"}})")) == R"({"a":{"$schema":"s"}})");
}

TEST_CASE("a duplicate key is an error that names both lines") {
  CHECK(parse_failure("{\"hosts\": [{\"name\": 1,\n\"x\": 2,\n\"name\": 3}]}") ==
        "x.json:3: hosts.0.name: duplicate key (first on line 1)");
  CHECK(parse_failure("{\"a\": 1, \"a\": 2}") == "x.json:1: a: duplicate key (first on line 1)");
}

TEST_CASE("what is not JSON gives one line with its place") {
  CHECK(parse_failure("") ==
        "x.json:1: not valid JSON: column 1: syntax error while parsing value - unexpected end of "
        "input; expected '[', '{', or a literal");
  CHECK(parse_failure("{\n\"a\": 1,\n").find("x.json:2: not valid JSON: ") == 0);
  CHECK(parse_failure("{\"a\": 1").find("x.json:1: not valid JSON: ") == 0);
  CHECK(parse_failure("{\"a\": \n nope}").find("x.json:2: not valid JSON: ") == 0);
  CHECK(parse_failure("{} x").find("x.json:1: not valid JSON: ") == 0);
  CHECK(parse_failure("{\"a\": 1,}").find("x.json:1: not valid JSON: ") == 0);
  CHECK(parse_failure("[1e999]").find("x.json:1: not valid JSON: ") == 0);
  CHECK(parse_failure("\"\xff\"").find("x.json:1: not valid JSON: ") == 0);
  CHECK(parse_failure(std::string("\"\0\"", 3)).find("x.json:1: not valid JSON: ") == 0);
  for (const char* text : {"", "{\"a\": \"b\nc\"}", "\"\xff\"", "\x01", "{\"\n"})
    CHECK(parse_failure(text).find('\n') == std::string::npos);
  CHECK(parse_failure("\"" + std::string(100000, 'x')).size() < 300);
}

TEST_CASE("nesting is limited") {
  const std::string deep(64, '[');
  CHECK(compact(parse(deep + std::string(64, ']'))).size() == 128);
  CHECK(parse_failure(deep + "[") == "x.json:1: nested deeper than 64 levels");
  CHECK(parse_failure(std::string(1000000, '[')) == "x.json:1: nested deeper than 64 levels");
}

TEST_CASE("a file that cannot be read is named") {
  CHECK_THROWS_WITH(read_json_file("/nonexistent/x.json"),
                    "/nonexistent/x.json: cannot be read: No such file or directory");
  CHECK_THROWS_WITH(read_json_file("/"), "/: cannot be read: it is a directory");
}

TEST_CASE("merging follows the examples of RFC 7396") {
  CHECK(merged(R"({"a":"b"})", R"({"a":"c"})") == R"({"a":"c"})");
  CHECK(merged(R"({"a":"b"})", R"({"b":"c"})") == R"({"a":"b","b":"c"})");
  CHECK(merged(R"({"a":"b"})", R"({"a":null})") == R"({})");
  CHECK(merged(R"({"a":"b","b":"c"})", R"({"a":null})") == R"({"b":"c"})");
  CHECK(merged(R"({"a":["b"]})", R"({"a":"c"})") == R"({"a":"c"})");
  CHECK(merged(R"({"a":"c"})", R"({"a":["b"]})") == R"({"a":["b"]})");
  CHECK(merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})") == R"({"a":{"b":"d"}})");
  CHECK(merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})") == R"({"a":[1]})");
  CHECK(merged(R"(["a","b"])", R"(["c","d"])") == R"(["c","d"])");
  CHECK(merged(R"({"a":"b"})", R"(["c"])") == R"(["c"])");
  CHECK(merged(R"({"a":"foo"})", "null") == "null");
  CHECK(merged(R"({"a":"foo"})", R"("bar")") == R"("bar")");
  CHECK(merged(R"({"e":null})", R"({"a":1})") == R"({"e":null,"a":1})");
  CHECK(merged(R"([1,2])", R"({"a":"b","c":null})") == R"({"a":"b"})");
  CHECK(merged("{}", R"({"a":{"bb":{"ccc":null}}})") == R"({"a":{"bb":{}}})");
}

TEST_CASE("what was merged in keeps its own place, what stayed keeps its own") {
  JsonNode node = parse_json("{\"a\": 1,\n\"b\": {\"c\": 1}}", "preset.json");
  merge_patch(node, parse_json("\n\n{\"b\": {\"d\": 2}, \"a\": 5}", "scenario.json"));
  CHECK(node.find("a")->file() == "scenario.json");
  CHECK(node.find("a")->line() == 3);
  CHECK(node.find("b")->find("c")->file() == "preset.json");
  CHECK(node.find("b")->find("c")->line() == 2);
  CHECK(node.find("b")->find("d")->file() == "scenario.json");
}

TEST_CASE("a path names members by key and list elements by index, name or all") {
  const std::string hosts = R"({"hosts":[{"name":"A","m":1},{"name":"B"}]})";
  CHECK(after_set(hosts, "hosts.0.m", "2") == R"({"hosts":[{"name":"A","m":2},{"name":"B"}]})");
  CHECK(after_set(hosts, "hosts.B.m", "2") ==
        R"({"hosts":[{"name":"A","m":1},{"name":"B","m":2}]})");
  CHECK(after_set(hosts, "hosts.*.x.y", "\"2 MiB\"") ==
        R"({"hosts":[{"name":"A","m":1,"x":{"y":"2 MiB"}},{"name":"B","x":{"y":"2 MiB"}}]})");
  CHECK(after_set(hosts, "hosts.*.m", "{\"k\":1}") ==
        R"({"hosts":[{"name":"A","m":{"k":1}},{"name":"B","m":{"k":1}}]})");
  CHECK(after_set(R"({"a":{"b":1}})", "a", R"({"c":2})") == R"({"a":{"b":1,"c":2}})");
  CHECK(after_set(R"({"a":{"b":1}})", "a", "[3]") == R"({"a":[3]})");
  CHECK(after_set(R"({"a":{"b":1,"c":2}})", "a.*", "3") == R"({"a":{"b":3,"c":3}})");
  CHECK(after_set("{}", "a.b.c", "true") == R"({"a":{"b":{"c":true}}})");
  CHECK(after_set(R"({"l":[1,2]})", "l.1", "7") == R"({"l":[1,7]})");
}

TEST_CASE("a path that leads nowhere says where it ends") {
  const std::string hosts = R"({"seed":1,"none":[],"l":[5],"hosts":[{"name":"A"},{"name":"B"}]})";
  CHECK(after_set(hosts, "hosts.C.m", "2") ==
        "--set:1: hosts.C.m: expected an index below 2 or a name (A or B) in list \"hosts\", found "
        "\"C\"");
  CHECK(after_set(hosts, "hosts.2", "2") ==
        "--set:1: hosts.2: expected an index below 2 or a name (A or B) in list \"hosts\", found "
        "\"2\"");
  CHECK(after_set(hosts, "l.x", "2") ==
        "--set:1: l.x: expected an index below 1 in list \"l\", found \"x\"");
  CHECK(after_set(hosts, "none.0", "2") ==
        "--set:1: none.0: expected elements in list \"none\", found an empty list");
  CHECK(after_set(hosts, "none.*.x", "2") ==
        "--set:1: none.*.x: expected something to match \"*\", found nothing in \"none\"");
  CHECK(after_set(hosts, "seed.x", "2") ==
        "--set:1: seed.x: expected a list or an object at \"seed\", found 1");
  for (const char* path : {"", ".", "a..b", ".a", "a."})
    CHECK(after_set(hosts, path, "2").find("expected keys joined by dots, found an empty key") !=
          std::string::npos);
  std::string deep = "a";
  for (int i = 0; i < 64; ++i) deep += ".a";
  CHECK(after_set("{}", deep, "1").find("a path of at most 64 keys") != std::string::npos);
}

TEST_CASE("the nearest node to a path gives an error its line") {
  const JsonNode node = parse("{\n\"a\": [\n{\"b\":\n1}]}");
  CHECK(nearest_node(node, "a.0.b").line() == 4);
  CHECK(nearest_node(node, "a.0.c.d").line() == 3);
  CHECK(nearest_node(node, "x").line() == 1);
}
