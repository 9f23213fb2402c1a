// SPDX-License-Identifier: MIT
// The opcode byte of the BTH (IBTA table 38): transport in its top three bits, operation in the low
// five, and what the operation says about a packet's place in its message and its extension
// headers.
//
// An operation means the same in every transport that has it, so the predicates take the operation
// alone; which transports have it, is_defined tells. A congestion notification packet (annex A17)
// is operation 1 of a transport of its own: ask for the transport before the operation.
//
// Left out: operations of RD and XRC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rnicsim {

/// Bits 7 to 5 of the opcode byte. Any of eight values may come off the wire.
enum class WireTransport : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kUd = 3, kCnp = 4 };

/// Bits 4 to 0 of the opcode byte. Any of 32 values may come off the wire: see is_defined.
enum class Opcode : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadResponseFirst = 0x0d,
  kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f,
  kReadResponseOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kSendLastInvalidate = 0x16,
  kSendOnlyInvalidate = 0x17,
};

/// With WireTransport::kCnp the byte 0x81. Its 16 reserved bytes count as payload.
inline constexpr Opcode kCnpOpcode{0x01};
inline constexpr std::size_t kCnpReservedBytes = 16;

namespace opcode_table {

inline constexpr std::uint16_t kFirst = 0x001;
inline constexpr std::uint16_t kMiddle = 0x002;
inline constexpr std::uint16_t kLast = 0x004;
inline constexpr std::uint16_t kOnly = 0x008;
inline constexpr std::uint16_t kRequest = 0x010;
inline constexpr std::uint16_t kResponse = 0x020;
inline constexpr std::uint16_t kPayload = 0x040;
inline constexpr std::uint16_t kReth = 0x080;
inline constexpr std::uint16_t kAeth = 0x100;
inline constexpr std::uint16_t kImmDt = 0x200;
inline constexpr std::uint16_t kAtomicEth = 0x400;
inline constexpr std::uint16_t kAtomicAckEth = 0x800;
inline constexpr std::uint16_t kIeth = 0x1000;

inline constexpr std::uint16_t kData = kRequest | kPayload;
inline constexpr std::uint16_t kReadData = kResponse | kPayload;

/// Index = opcode; zero = no opcode of any transport.
inline constexpr std::array<std::uint16_t, 0x18> kTraits = {
    kData | kFirst,                     // SEND first
    kData | kMiddle,                    // SEND middle
    kData | kLast,                      // SEND last
    kData | kLast | kImmDt,             // SEND last with immediate
    kData | kOnly,                      // SEND only
    kData | kOnly | kImmDt,             // SEND only with immediate
    kData | kFirst | kReth,             // RDMA WRITE first
    kData | kMiddle,                    // RDMA WRITE middle
    kData | kLast,                      // RDMA WRITE last
    kData | kLast | kImmDt,             // RDMA WRITE last with immediate
    kData | kOnly | kReth,              // RDMA WRITE only
    kData | kOnly | kReth | kImmDt,     // RDMA WRITE only with immediate
    kRequest | kReth,                   // RDMA READ request
    kReadData | kFirst | kAeth,         // RDMA READ response first
    kReadData | kMiddle,                // RDMA READ response middle
    kReadData | kLast | kAeth,          // RDMA READ response last
    kReadData | kOnly | kAeth,          // RDMA READ response only
    kResponse | kAeth,                  // acknowledge
    kResponse | kAeth | kAtomicAckEth,  // ATOMIC acknowledge
    kRequest | kAtomicEth,              // CmpSwap
    kRequest | kAtomicEth,              // FetchAdd
    0,                                  // reserved
    kData | kLast | kIeth,              // SEND last with invalidate
    kData | kOnly | kIeth,              // SEND only with invalidate
};

constexpr bool has(Opcode opcode, std::uint16_t traits) {
  const auto index = static_cast<std::size_t>(opcode);
  return index < kTraits.size() && (kTraits[index] & traits) != 0;
}

}  // namespace opcode_table

/// Whether the transport has the operation: all of RC; SEND and WRITE without invalidation of UC;
/// SEND only, with and without immediate, of UD; the one of CNP.
constexpr bool is_defined(WireTransport transport, Opcode opcode) {
  switch (transport) {
    case WireTransport::kRc:
      return opcode_table::has(opcode, opcode_table::kRequest | opcode_table::kResponse);
    case WireTransport::kUc:
      return opcode <= Opcode::kWriteOnlyImm;
    case WireTransport::kUd:
      return opcode == Opcode::kSendOnly || opcode == Opcode::kSendOnlyImm;
    case WireTransport::kCnp:
      return opcode == kCnpOpcode;
    case WireTransport::kRd:
      break;
  }
  return false;
}

// Position in a message, of opcodes that have one: READ request, acknowledge and atomics have none.
constexpr bool is_first(Opcode opcode) { return opcode_table::has(opcode, opcode_table::kFirst); }
constexpr bool is_middle(Opcode opcode) { return opcode_table::has(opcode, opcode_table::kMiddle); }
constexpr bool is_last(Opcode opcode) { return opcode_table::has(opcode, opcode_table::kLast); }
constexpr bool is_only(Opcode opcode) { return opcode_table::has(opcode, opcode_table::kOnly); }
constexpr bool starts_message(Opcode opcode) {
  return opcode_table::has(opcode, opcode_table::kFirst | opcode_table::kOnly);
}
constexpr bool ends_message(Opcode opcode) {
  return opcode_table::has(opcode, opcode_table::kLast | opcode_table::kOnly);
}
/// Goes from requester to responder.
constexpr bool is_request(Opcode opcode) {
  return opcode_table::has(opcode, opcode_table::kRequest);
}
/// Goes from responder to requester.
constexpr bool is_response(Opcode opcode) {
  return opcode_table::has(opcode, opcode_table::kResponse);
}
constexpr bool is_send(Opcode opcode) {
  return opcode <= Opcode::kSendOnlyImm || opcode == Opcode::kSendLastInvalidate ||
         opcode == Opcode::kSendOnlyInvalidate;
}
constexpr bool is_write(Opcode opcode) {
  return opcode >= Opcode::kWriteFirst && opcode <= Opcode::kWriteOnlyImm;
}
constexpr bool is_read_response(Opcode opcode) {
  return opcode >= Opcode::kReadResponseFirst && opcode <= Opcode::kReadResponseOnly;
}
constexpr bool is_atomic(Opcode opcode) {
  return opcode == Opcode::kCompareSwap || opcode == Opcode::kFetchAdd;
}

// What follows the BTH. The DETH depends on the transport: has_deth in headers.h.
constexpr bool has_payload(Opcode opcode) {
  return opcode_table::has(opcode, opcode_table::kPayload);
}
constexpr bool has_reth(Opcode opcode) { return opcode_table::has(opcode, opcode_table::kReth); }
constexpr bool has_atomic_eth(Opcode opcode) {
  return opcode_table::has(opcode, opcode_table::kAtomicEth);
}
constexpr bool has_aeth(Opcode opcode) { return opcode_table::has(opcode, opcode_table::kAeth); }
constexpr bool has_atomic_ack_eth(Opcode opcode) {
  return opcode_table::has(opcode, opcode_table::kAtomicAckEth);
}
constexpr bool has_immediate(Opcode opcode) {
  return opcode_table::has(opcode, opcode_table::kImmDt);
}
constexpr bool has_ieth(Opcode opcode) { return opcode_table::has(opcode, opcode_table::kIeth); }

/// "SEND First"; "reserved" if no transport has it.
const char* name_of(Opcode opcode);
/// "RC"; "reserved" if it is none.
const char* name_of(WireTransport transport);

}  // namespace rnicsim
