// SPDX-License-Identifier: MIT
#include "model/quantity.h"

#include <catch2/catch.hpp>

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

template <class T>
T parsed(const std::string& text) {
  T value{};
  std::string error;
  INFO(text);
  REQUIRE(parse_quantity(text, value, error));
  return value;
}

template <class T>
std::string refused(const std::string& text) {
  T value{};
  std::string error;
  INFO(text);
  REQUIRE_FALSE(parse_quantity(text, value, error));
  REQUIRE(value == T{});
  return error;
}

template <class T>
void check_round_trip(T value, const std::string& text) {
  CHECK(to_text(value) == text);
  CHECK(parsed<T>(text) == value);
}

}  // namespace

TEST_CASE("a quantity is a decimal number and a unit, with or without a blank between") {
  CHECK(parsed<Time>("250 ns") == 250_ns);
  CHECK(parsed<Time>("250ns") == 250_ns);
  CHECK(parsed<Time>("4.096 us") == Time::ps(4'096'000));
  CHECK(parsed<Time>("10 ms") == 10_ms);
  CHECK(parsed<Time>("1 s") == Time::s(1));
  CHECK(parsed<Time>("500 ps") == 500_ps);
  CHECK(parsed<Time>("0.001 ns") == 1_ps);
  CHECK(parsed<Bytes>("64 KiB") == 64_KiB);
  CHECK(parsed<Bytes>("4200 B") == 4200_B);
  CHECK(parsed<Bytes>("1 GiB") == 1_GiB);
  CHECK(parsed<Bytes>("1 MB") == Bytes(1'000'000));
  CHECK(parsed<Bytes>("0.5 KiB") == 512_B);
  CHECK(parsed<BitRate>("100 Gb/s") == BitRate::gbps(100));
  CHECK(parsed<BitRate>("800 Mb/s") == BitRate(800'000'000));
  CHECK(parsed<BitRate>("60 GB/s") == BitRate::gbps(480));
  CHECK(parsed<BitRate>("1 GiB/s") == BitRate(8ULL << 30));
  CHECK(parsed<Frequency>("1.2 GHz") == Frequency::mhz(1200));
  CHECK(parsed<Frequency>("322.265625 MHz") == Frequency(322'265'625));
  CHECK(parsed<Length>("3 m") == Length::m(3));
  CHECK(parsed<Length>("50 cm") == Length(500));
  CHECK(parsed<Length>("1 km") == Length::m(1000));
  CHECK(parsed<Cycles>("12 cycles") == 12_cycles);
  CHECK(parsed<Cycles>("1 cycle") == 1_cycles);
}

TEST_CASE("zeros before and behind the number change nothing") {
  CHECK(parsed<Time>("000000000000000000000000000000250.00000000000000000000000000000000 ns") ==
        250_ns);
  CHECK(parsed<Bytes>("1.000 B") == 1_B);
  CHECK(parsed<Bytes>("0 B") == 0_B);
  CHECK(parsed<Bytes>("0.0 B") == 0_B);
}

TEST_CASE("the largest value of each type is read and the next is refused") {
  CHECK(parsed<Bytes>("18446744073709551615 B").count() == ~std::uint64_t{0});
  CHECK(refused<Bytes>("18446744073709551616 B") ==
        "is too large (at most 18446744073709551615 B)");
  CHECK(parsed<Time>("9223372036854775807 ps") == Time::never());
  CHECK(refused<Time>("9223372036854775808 ps") == "is too large (at most 9223372036854775807 ps)");
  CHECK(refused<Time>("9223373 s") == "is too large (at most 9223372036854775807 ps)");
  CHECK(refused<Bytes>("16777216 TiB") == "is too large (at most 18446744073709551615 B)");
  CHECK(refused<BitRate>("9999999999999999999999999 TB/s") ==
        "is too large (at most 18446744073709551615 b/s)");
  CHECK(refused<Bytes>("10000000000000000000000000 B") == "has too many digits");
  CHECK(parsed<Length>("1844674407370955161 mm").mm() == 1844674407370955161);
  CHECK(refused<Length>("1844674407370955162 mm") ==
        "is too large (at most 1844674407370955161 mm)");
}

TEST_CASE("what is no quantity is refused with the reason") {
  CHECK(refused<Time>("250") == "has no unit (ps, ns, us, ms, s)");
  CHECK(refused<Time>("250 ") == "has no unit (ps, ns, us, ms, s)");
  CHECK(refused<Time>("250 nanoseconds") == "has an unknown unit (known: ps, ns, us, ms, s)");
  CHECK(refused<Time>("250  ns") == "has an unknown unit (known: ps, ns, us, ms, s)");
  CHECK(refused<Time>("250 ns ") == "has an unknown unit (known: ps, ns, us, ms, s)");
  CHECK(refused<Time>("4 KiB") == "has an unknown unit (known: ps, ns, us, ms, s)");
  CHECK(refused<Frequency>("1 ghz") == "has an unknown unit (known: Hz, kHz, MHz, GHz)");
  CHECK(refused<Length>("1 ft") == "has an unknown unit (known: mm, cm, m, km)");
  CHECK(refused<Cycles>("1") == "has no unit (cycle, cycles)");
  CHECK(refused<Time>("-5 ns") == "has a sign");
  CHECK(refused<Time>("+5 ns") == "has a sign");
  for (const char* text : {"", " 5 ns", "ns", ".5 ns", "5. ns", "x", "\xc2\xb5s"})
    CHECK(refused<Time>(text) == "is not a decimal number followed by a unit");
  for (const char* text : {"1e3 ns", "1,000 ns", "1.2.3 ns", "0x10 ns", "1'000 ns"})
    CHECK(refused<Time>(text) == "has an unknown unit (known: ps, ns, us, ms, s)");
}

TEST_CASE("a fraction of the base unit is refused, not rounded") {
  CHECK(refused<Time>("0.5 ps") == "is not a whole number of picoseconds");
  CHECK(refused<Time>("1.0001 ns") == "is not a whole number of picoseconds");
  CHECK(refused<Bytes>("0.3 KiB") == "is not a whole number of bytes");
  CHECK(refused<BitRate>("1.5 b/s") == "is not a whole number of bits per second");
  CHECK(refused<Frequency>("0.1 Hz") == "is not a whole number of hertz");
  CHECK(refused<Length>("0.25 cm") == "is not a whole number of millimetres");
  CHECK(refused<Cycles>("1.5 cycles") == "is not a whole number of cycles");
  CHECK(refused<Time>("1.0000000000000000000000001 s") == "has too many digits");
}

TEST_CASE("printing picks the unit that reads best and reads back exactly") {
  check_round_trip(Time(), "0 ps");
  check_round_trip(250_ns, "250 ns");
  check_round_trip(Time::ps(4'096'000), "4.096 us");
  check_round_trip(Time::ps(9'123'456), "9.123456 us");
  check_round_trip(Time::ps(1'000'000'000'001), "1000000.000001 us");
  check_round_trip(Time::s(2), "2 s");
  check_round_trip(Time::never(), "9223372036854.775807 us");
  check_round_trip(64_KiB, "64 KiB");
  check_round_trip(4200_B, "4200 B");
  check_round_trip(1500_B, "1500 B");
  check_round_trip(Bytes(1'000'000), "1 MB");
  check_round_trip(2_MiB, "2 MiB");
  check_round_trip(0_B, "0 B");
  check_round_trip(Bytes(~std::uint64_t{0}), "18446744073709551615 B");
  check_round_trip(BitRate::gbps(100), "100 Gb/s");
  check_round_trip(BitRate(31'500'000'000), "31.5 Gb/s");
  check_round_trip(BitRate::gbps(1600), "1.6 Tb/s");
  check_round_trip(BitRate(), "0 b/s");
  check_round_trip(Frequency(322'265'625), "322.265625 MHz");
  check_round_trip(Frequency::mhz(1200), "1.2 GHz");
  check_round_trip(Length::m(3), "3 m");
  check_round_trip(Length(500), "50 cm");
  check_round_trip(Length(1234567), "1.234567 km");
  check_round_trip(12_cycles, "12 cycles");
  check_round_trip(1_cycles, "1 cycle");
  CHECK(to_text(Time::ns(-3)) == "-3 ns");
}

TEST_CASE("a rate that is no whole number of bits per second is written as a fraction") {
  check_round_trip(BitRate(8'000'000'000ULL * 128, 130), "102400000000/13 b/s");
  CHECK(parsed<BitRate>("2/4 b/s") == BitRate(1, 2));
  for (const char* text : {"1/0 b/s", "/3 b/s", "1/ b/s", "1/3 Gb/s", "0/3 b/s", "a/b b/s"}) {
    BitRate value;
    std::string error;
    INFO(text);
    CHECK_FALSE(parse_quantity(text, value, error));
  }
}

TEST_CASE("every printed value reads back to itself") {
  std::uint64_t seed = 1;
  for (int i = 0; i < 20000; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t n = seed >> (seed % 64);
    const Time time = Time::ps(static_cast<std::int64_t>(n >> 1));
    REQUIRE(parsed<Time>(to_text(time)) == time);
    REQUIRE(parsed<Bytes>(to_text(Bytes(n))) == Bytes(n));
    REQUIRE(parsed<BitRate>(to_text(BitRate(n))) == BitRate(n));
    REQUIRE(parsed<Frequency>(to_text(Frequency(n))) == Frequency(n));
    REQUIRE(parsed<Length>(to_text(Length(n / 16))) == Length(n / 16));
    REQUIRE(parsed<Cycles>(to_text(Cycles(n))) == Cycles(n));
  }
}

TEST_CASE("each kind names its units and a pattern for editors") {
  CHECK(quantity_kind(Time()).units == "ps, ns, us, ms, s");
  CHECK(quantity_kind(Time()).pattern == "^[0-9]+(\\.[0-9]+)? ?(ps|ns|us|ms|s)$");
  CHECK(std::string(quantity_kind(Length()).example) == "3 m");
  CHECK(std::string(quantity_kind(Cycles()).noun) == "a number of cycles");
}
