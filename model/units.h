// SPDX-License-Identifier: MIT
// Everything that is measured is a type: Time, Bytes, BitRate, Frequency, Cycles, Length.
//
// Time is a whole number of picoseconds; a rate is a whole fraction of bits per second, so that a
// PCIe lane with 128b/130b coding (8e9 x 128/130 b/s) is exact. Nothing here rounds through
// floating point: serialisation multiplies in 128 bits where 64 do not suffice and rounds up once,
// or carries the remainder (class Serialiser). This header knows nothing of SystemC, so that
// readers and fuzzers need no kernel.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>

namespace rnicsim {

using Uint128 = unsigned __int128;

/// A point in simulated time or a duration, in picoseconds.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time ps(std::int64_t n) { return Time(n); }
  static constexpr Time ns(std::int64_t n) { return Time(n * 1000); }
  static constexpr Time us(std::int64_t n) { return Time(n * 1000 * 1000); }
  static constexpr Time ms(std::int64_t n) { return Time(n * 1000 * 1000 * 1000); }
  static constexpr Time s(std::int64_t n) { return Time(n * 1000 * 1000 * 1000 * 1000); }
  /// Later than anything that happens.
  static constexpr Time never() { return Time(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t ps() const { return ps_; }
  /// For people and plots only; never feeds back into the model.
  constexpr double as_ns() const { return static_cast<double>(ps_) / 1e3; }
  constexpr double as_us() const { return static_cast<double>(ps_) / 1e6; }
  constexpr double as_s() const { return static_cast<double>(ps_) / 1e12; }

  constexpr Time& operator+=(Time other) {
    ps_ += other.ps_;
    return *this;
  }
  constexpr Time& operator-=(Time other) {
    ps_ -= other.ps_;
    return *this;
  }
  friend constexpr Time operator+(Time a, Time b) { return Time(a.ps_ + b.ps_); }
  friend constexpr Time operator-(Time a, Time b) { return Time(a.ps_ - b.ps_); }
  friend constexpr Time operator*(Time a, std::int64_t n) { return Time(a.ps_ * n); }
  friend constexpr Time operator*(std::int64_t n, Time a) { return Time(a.ps_ * n); }
  friend constexpr Time operator/(Time a, std::int64_t n) { return Time(a.ps_ / n); }
  friend constexpr std::int64_t operator/(Time a, Time b) { return a.ps_ / b.ps_; }
  friend constexpr bool operator==(Time a, Time b) { return a.ps_ == b.ps_; }
  friend constexpr bool operator!=(Time a, Time b) { return a.ps_ != b.ps_; }
  friend constexpr bool operator<(Time a, Time b) { return a.ps_ < b.ps_; }
  friend constexpr bool operator<=(Time a, Time b) { return a.ps_ <= b.ps_; }
  friend constexpr bool operator>(Time a, Time b) { return a.ps_ > b.ps_; }
  friend constexpr bool operator>=(Time a, Time b) { return a.ps_ >= b.ps_; }

 private:
  constexpr explicit Time(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

/// A whole number with a meaning: values of different tags do not mix.
template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::uint64_t n) : n_(n) {}
  constexpr std::uint64_t count() const { return n_; }

  constexpr Quantity& operator+=(Quantity other) {
    n_ += other.n_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    n_ -= other.n_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.n_ + b.n_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.n_ - b.n_); }
  friend constexpr Quantity operator*(Quantity a, std::uint64_t n) { return Quantity(a.n_ * n); }
  friend constexpr Quantity operator*(std::uint64_t n, Quantity a) { return Quantity(a.n_ * n); }
  friend constexpr Quantity operator/(Quantity a, std::uint64_t n) { return Quantity(a.n_ / n); }
  friend constexpr std::uint64_t operator/(Quantity a, Quantity b) { return a.n_ / b.n_; }
  friend constexpr Quantity operator%(Quantity a, Quantity b) { return Quantity(a.n_ % b.n_); }
  friend constexpr bool operator==(Quantity a, Quantity b) { return a.n_ == b.n_; }
  friend constexpr bool operator!=(Quantity a, Quantity b) { return a.n_ != b.n_; }
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.n_ < b.n_; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.n_ <= b.n_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.n_ > b.n_; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.n_ >= b.n_; }

 private:
  std::uint64_t n_ = 0;
};

using Bytes = Quantity<struct BytesTag>;
/// Cycles of the clock of the block that the value belongs to.
using Cycles = Quantity<struct CyclesTag>;

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }
constexpr std::uint64_t divide_up(Bytes a, Bytes b) { return divide_up(a.count(), b.count()); }

/// Bits per second, as a fraction in lowest terms. Zero only by default construction.
class BitRate {
 public:
  constexpr BitRate() = default;
  constexpr explicit BitRate(std::uint64_t bits_per_second, std::uint64_t denominator = 1)
      : num_(bits_per_second), den_(denominator) {
    const std::uint64_t divisor = std::gcd(num_, den_);
    num_ /= divisor;
    den_ /= divisor;
  }
  static constexpr BitRate gbps(std::uint64_t n) { return BitRate(n * 1000 * 1000 * 1000); }
  constexpr std::uint64_t numerator() const { return num_; }
  constexpr std::uint64_t denominator() const { return den_; }
  constexpr double as_gbps() const {
    return static_cast<double>(num_) / static_cast<double>(den_) / 1e9;
  }
  friend constexpr bool operator==(BitRate a, BitRate b) {
    return a.num_ == b.num_ && a.den_ == b.den_;
  }
  friend constexpr bool operator!=(BitRate a, BitRate b) { return !(a == b); }

 private:
  std::uint64_t num_ = 0;
  std::uint64_t den_ = 1;
};

/// Hertz, whole.
class Frequency {
 public:
  constexpr Frequency() = default;
  constexpr explicit Frequency(std::uint64_t hz) : hz_(hz) {}
  static constexpr Frequency mhz(std::uint64_t n) { return Frequency(n * 1000 * 1000); }
  constexpr std::uint64_t hz() const { return hz_; }
  friend constexpr bool operator==(Frequency a, Frequency b) { return a.hz_ == b.hz_; }
  friend constexpr bool operator!=(Frequency a, Frequency b) { return a.hz_ != b.hz_; }

 private:
  std::uint64_t hz_ = 0;
};

/// A cable's length in millimetres. Light in fibre and copper: 5 ns a metre.
class Length {
 public:
  constexpr Length() = default;
  constexpr explicit Length(std::uint64_t mm) : mm_(mm) {}
  static constexpr Length m(std::uint64_t n) { return Length(n * 1000); }
  constexpr std::uint64_t mm() const { return mm_; }
  constexpr Time propagation() const { return Time::ps(static_cast<std::int64_t>(mm_) * 5); }
  friend constexpr bool operator==(Length a, Length b) { return a.mm_ == b.mm_; }

 private:
  std::uint64_t mm_ = 0;
};

/// How long bytes take at a rate: ps per byte as a fraction in lowest terms, so that most divisions
/// fit 64 bits.
class ByteTime {
 public:
  constexpr ByteTime() = default;
  /// REQUIRES: rate is not zero.
  constexpr explicit ByteTime(BitRate rate) {
    Uint128 num = static_cast<Uint128>(8000000000000ULL) * rate.denominator();
    Uint128 den = rate.numerator();
    Uint128 a = num;
    Uint128 b = den;
    while (b != 0) {
      const Uint128 r = a % b;
      a = b;
      b = r;
    }
    num_ = static_cast<std::uint64_t>(num / a);
    den_ = static_cast<std::uint64_t>(den / a);
  }
  /// Time of `bytes` on the wire, rounded up to a whole picosecond.
  constexpr Time of(Bytes bytes) const { return scaled(bytes.count(), den_ - 1); }
  constexpr std::uint64_t numerator() const { return num_; }
  constexpr std::uint64_t denominator() const { return den_; }
  /// How many whole bytes take at most so long.
  constexpr Bytes bytes_in(Time time) const {
    return Bytes(static_cast<std::uint64_t>(
        static_cast<Uint128>(static_cast<std::uint64_t>(time.ps())) * den_ / num_));
  }
  /// Rounded down.
  constexpr std::uint64_t bits_per_second() const {
    return static_cast<std::uint64_t>(static_cast<Uint128>(8000000000000ULL) * den_ / num_);
  }

 private:
  friend class Serialiser;
  constexpr Time scaled(std::uint64_t n, std::uint64_t add) const {
    if (n < (1ULL << 32) && num_ < (1ULL << 31))
      return Time::ps(static_cast<std::int64_t>((n * num_ + add) / den_));
    return Time::ps(static_cast<std::int64_t>((static_cast<Uint128>(n) * num_ + add) / den_));
  }
  std::uint64_t num_ = 0;
  std::uint64_t den_ = 1;
};

/// A wire that bytes leave one after another: knows when it is free, and carries the part of a
/// picosecond that a packet's end falls between into the next, so that a stream never drifts.
class Serialiser {
 public:
  constexpr Serialiser() = default;
  constexpr explicit Serialiser(BitRate rate) : byte_time_(rate) {}

  /// The earliest that the next byte may start (rounded up).
  constexpr Time free_at() const { return remainder_ == 0 ? free_at_ : free_at_ + Time::ps(1); }
  /// Puts `bytes` on the wire no earlier than `earliest`; returns when the last has left. One that
  /// comes at free_at() follows without a gap, though free_at() is rounded up.
  constexpr Time send(Time earliest, Bytes bytes) {
    if (earliest > free_at()) {
      free_at_ = earliest;
      remainder_ = 0;
    }
    const Uint128 units = static_cast<Uint128>(bytes.count()) * byte_time_.num_ + remainder_;
    if (units < (static_cast<Uint128>(1) << 64)) {
      const auto small = static_cast<std::uint64_t>(units);
      free_at_ += Time::ps(static_cast<std::int64_t>(small / byte_time_.den_));
      remainder_ = small % byte_time_.den_;
    } else {
      free_at_ += Time::ps(static_cast<std::int64_t>(units / byte_time_.den_));
      remainder_ = static_cast<std::uint64_t>(units % byte_time_.den_);
    }
    return free_at();
  }
  constexpr const ByteTime& byte_time() const { return byte_time_; }
  /// How many of the last `bytes` put on it have not left by `at`.
  constexpr Bytes left_at(Time at, Bytes bytes) const {
    if (free_at() <= at) return Bytes();
    const Bytes left = byte_time_.bytes_in(free_at() - at);
    return left < bytes ? left : bytes;
  }

 private:
  ByteTime byte_time_;
  Time free_at_;
  std::uint64_t remainder_ = 0;  ///< in 1/denominator ps
};

namespace literals {
constexpr Time operator""_ps(unsigned long long n) {
  return Time::ps(static_cast<std::int64_t>(n));
}
constexpr Time operator""_ns(unsigned long long n) {
  return Time::ns(static_cast<std::int64_t>(n));
}
constexpr Time operator""_us(unsigned long long n) {
  return Time::us(static_cast<std::int64_t>(n));
}
constexpr Time operator""_ms(unsigned long long n) {
  return Time::ms(static_cast<std::int64_t>(n));
}
constexpr Bytes operator""_B(unsigned long long n) { return Bytes(n); }
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes(n << 10); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(n << 20); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(n << 30); }
constexpr Cycles operator""_cycles(unsigned long long n) { return Cycles(n); }
}  // namespace literals

}  // namespace rnicsim
