// SPDX-License-Identifier: MIT
#include "host/result.h"

namespace rnicsim {

const char* name_of(Errno error) {
  switch (error) {
    case Errno::kOk:
      return "ok";
    case Errno::kIo:
      return "EIO";
    case Errno::kNoMemory:
      return "ENOMEM";
    case Errno::kFault:
      return "EFAULT";
    case Errno::kBusy:
      return "EBUSY";
    case Errno::kInvalid:
      return "EINVAL";
  }
  return "?";
}

}  // namespace rnicsim
