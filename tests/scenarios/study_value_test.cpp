// SPDX-License-Identifier: MIT
#include "scenarios/engine/study_value.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "model/config_error.h"

using namespace rnicsim;

namespace {

using Texts = std::vector<std::string>;

RangeEnds ends(const std::string& from, const std::string& to) {
  const JsonNode document = parse_json("[" + from + ", " + to + "]", "s.json");
  return {document.children()[0], document.children()[1]};
}

Texts texts(const std::vector<JsonNode>& values) {
  Texts found;
  for (const JsonNode& value : values) found.push_back(value.found_text());
  return found;
}

template <class Make>
std::string failure(const Make& make) {
  try {
    make();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("A linear range has both ends and even distances") {
  CHECK(texts(linear_range(ends("10", "40"), 4)) == Texts{"10", "20", "30", "40"});
  CHECK(texts(linear_range(ends("40", "10"), 3)) == Texts{"40", "25", "10"});
  CHECK(texts(linear_range(ends("0.5", "1"), 3)) == Texts{"0.5", "0.75", "1"});
  CHECK(texts(linear_range(ends("\"1 us\"", "\"2 us\""), 3)) ==
        Texts{"\"1 us\"", "\"1.5 us\"", "\"2 us\""});
}

TEST_CASE("A logarithmic range has even ratios, whatever units its ends are in") {
  CHECK(texts(logarithmic_range(ends("16", "1024"), 4)) == Texts{"16", "64", "256", "1024"});
  CHECK(texts(logarithmic_range(ends("\"4 KiB\"", "\"1 MiB\""), 3)) ==
        Texts{"\"4 KiB\"", "\"64 KiB\"", "\"1 MiB\""});
  CHECK(count_of_decades(ends("1", "1000"), 3) == 10);
  CHECK(count_of_decades(ends("8", "9"), 1) == 2);
}

TEST_CASE("Numbers with a fraction read back as they were, and are short for people") {
  const std::vector<JsonNode> values = logarithmic_range(ends("0.1", "1.0"), 3);
  CHECK(std::stod(values[1].text()) == 0.1 * std::pow(1.0 / 0.1, 0.5));
  CHECK(texts(linear_range(ends("1.0000001", "1.0000003"), 2)) == Texts{"1.0000001", "1.0000003"});
  CHECK(short_text("0.39999999999999997") == "0.4");
  CHECK(short_text("12345678") == "12345678");
  CHECK(short_text("1.5 us") == "1.5 us");
  CHECK(short_text("rnic_100g") == "rnic_100g");
}

TEST_CASE("Whole values that round to the same stand once") {
  CHECK(texts(linear_range(ends("1", "3"), 9)) == Texts{"1", "2", "3"});
}

TEST_CASE("A range refuses ends that do not go together") {
  CHECK(failure([] { linear_range(ends("\"1 us\"", "\"1 KiB\""), 2); }) ==
        "s.json:1: to: expected a value of the kind of \"from\", found \"1 KiB\"");
  CHECK(failure([] { linear_range(ends("1", "1"), 2); }) ==
        "s.json:1: to: expected another value than \"from\", found the same");
  CHECK(failure([] { linear_range(ends("\"many\"", "1"), 2); }) ==
        "s.json:1: from: expected a number or a quantity such as \"4 KiB\", found \"many\"");
  CHECK(failure([] { logarithmic_range(ends("0", "10"), 2); }) ==
        "s.json:1: from: expected more than 0, found 0");
}

TEST_CASE("A range has no whole ends that a fraction's digits cannot hold") {
  CHECK(texts(linear_range(ends("9007199254740990", "9007199254740991"), 2)) ==
        Texts{"9007199254740990", "9007199254740991"});
  CHECK(failure([] { linear_range(ends("200", "18446744073709551615"), 3); }) ==
        "s.json:1: to: expected a number from -9007199254740991 to 9007199254740991, found "
        "18446744073709551615");
  CHECK(failure([] { linear_range(ends("-9007199254740993", "1"), 3); }) ==
        "s.json:1: from: expected a number from -9007199254740991 to 9007199254740991, found "
        "-9007199254740993");
  CHECK(failure([] { logarithmic_range(ends("\"1 B\"", "\"8388608 GiB\""), 3); }) ==
        "s.json:1: to: expected no more than 9007199254740991 of the base unit, found \"8388608 "
        "GiB\"");
  CHECK(texts(linear_range(ends("1e20", "3e20"), 3)) == Texts{"1e+20", "2e+20", "3e+20"});
}

TEST_CASE("Texts are compared by what they say in base units") {
  CHECK(number_of_text("2.5") == 2.5);
  CHECK(number_of_text("4 KiB") == 4096.0);
  CHECK(number_of_text("1 ns") == 1000.0);
  CHECK(number_of_text("100 Gb/s") == 100e9);
  CHECK_FALSE(number_of_text("rnic_100g").has_value());
  CHECK_FALSE(number_of_text("4 things").has_value());
}
