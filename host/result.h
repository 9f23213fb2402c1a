// SPDX-License-Identifier: MIT
// How calls of the driver and of the verbs library answer: an errno of Linux, and a value.
#pragma once

#include <cstdint>

namespace rnicsim {

enum class Errno : std::uint8_t {
  kOk = 0,
  kIo = 5,         ///< EIO: the device refused a command
  kNoMemory = 12,  ///< ENOMEM: no frames, no table entry, or no room in a send queue
  kFault = 14,     ///< EFAULT: the address range is not mapped
  kBusy = 16,      ///< EBUSY: still in use
  kInvalid = 22,   ///< EINVAL
};
const char* name_of(Errno error);

template <class T>
struct Result {
  Errno error = Errno::kOk;
  T value{};

  Result() = default;
  Result(T v) : value(v) {}      // NOLINT(google-explicit-constructor): `return value;`
  Result(Errno e) : error(e) {}  // NOLINT(google-explicit-constructor): `return Errno::kInvalid;`
  bool ok() const { return error == Errno::kOk; }
};

}  // namespace rnicsim
