// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_expression.h"

#include <catch2/catch.hpp>
#include <map>

#include "model/config_error.h"

using namespace rnicsim;

namespace {

std::string lookup(const std::string& name) {
  static const std::map<std::string, std::string> kKnown = {
      {"entries", "64"}, {"page", "4 KiB"}, {"nic", "roce400"}, {"hosts.*.nic.cache.ways", "4"}};
  const auto it = kKnown.find(name);
  if (it != kKnown.end()) return it->second;
  ConfigError::Detail detail;
  detail.found = "no " + name;
  throw ConfigError(std::move(detail));
}

double number(const std::string& text) { return number_of_expression(text, lookup); }
bool holds(const std::string& text) { return truth_of_expression(text, lookup, lookup); }
std::string failure(const std::string& text) {
  try {
    number(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("An expression multiplies before it adds and knows parentheses") {
  CHECK(number("2 + 3 * 4") == 14);
  CHECK(number("(2 + 3) * 4") == 20);
  CHECK(number("7 - 4 - 1") == 2);
  CHECK(number("8 / 4 / 2") == 1);
  CHECK(number("-entries * -2") == 128);
}

TEST_CASE("Names are paths, and a star within one is no multiplication") {
  CHECK(number("hosts.*.nic.cache.ways*entries") == 256);
  CHECK(number("entries*16") == 1024);
}

TEST_CASE("Quantities count as their base units, in quotes or without a blank") {
  CHECK(number("page + 1KiB") == 5120);
  CHECK(number("'4 KiB' * 2") == 8192);
  CHECK(number("1.5e3") == 1500);
}

TEST_CASE("Comparisons are of numbers, or of texts for equality") {
  CHECK(holds("entries >= 64"));
  CHECK_FALSE(holds("entries > 64"));
  CHECK(holds("page = '4 KiB' and page < 8KiB"));
  CHECK(holds("nic = 'roce400'"));
  CHECK(holds("nic != 'rnic_100g'"));
  CHECK(holds("entries = 1 or entries = 64"));
  CHECK_FALSE(holds("entries = 64 and (page = '2 MiB' or entries < 3)"));
}

TEST_CASE("What is no expression is refused with what stands there") {
  CHECK(failure("2 +") == "\"2 +\": ends too early");
  CHECK(failure("2 3") == "\"2 3\": expected an operator or the end, found \"3\"");
  CHECK(failure("(2") == "\"(2\": expected \")\", found the end");
  CHECK(failure("1 / (entries - 64)") == "\"1 / (entries - 64)\": divides by 0");
  CHECK(failure("nic * 2") == "\"nic * 2\": expected a number, found \"roce400\"");
  CHECK(failure("nic < 2") == "\"nic < 2\": < compares numbers, not \"roce400\"");
  CHECK(failure("'open") == "\"'open\": has a quote without an end");
  CHECK(failure("3things") == "\"3things\": expected a number, found \"3 things\"");
  CHECK(failure("unknown") == "no unknown");
  CHECK(failure(std::string(100, '(')).find("is nested too deeply") != std::string::npos);
}
