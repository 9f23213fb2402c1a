// SPDX-License-Identifier: MIT
#include "model/opcode.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace rnicsim {
namespace {

using Image = std::vector<std::uint8_t>;

/// The opcodes of IBTA table 38 for which a predicate holds.
template <class Predicate>
Image opcodes_where(Predicate predicate) {
  Image opcodes;
  for (unsigned opcode = 0; opcode < 256; ++opcode)
    if (predicate(static_cast<Opcode>(opcode)))
      opcodes.push_back(static_cast<std::uint8_t>(opcode));
  return opcodes;
}

Image defined_in(WireTransport transport) {
  return opcodes_where([transport](Opcode opcode) { return is_defined(transport, opcode); });
}

TEST_CASE("Transports have the operations of IBTA table 38") {
  const Image rc = defined_in(WireTransport::kRc);
  REQUIRE(rc == Image{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b,
                      0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17});
  REQUIRE(defined_in(WireTransport::kUc) ==
          Image{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b});
  REQUIRE(defined_in(WireTransport::kUd) == Image{0x04, 0x05});
  REQUIRE(defined_in(WireTransport::kCnp) == Image{0x01});
  for (const int other : {2, 5, 6, 7})
    REQUIRE(defined_in(static_cast<WireTransport>(other)).empty());
}

TEST_CASE("Opcodes have the places and headers of IBTA table 38, over all 256 values") {
  REQUIRE(opcodes_where(is_first) == Image{0x00, 0x06, 0x0d});
  REQUIRE(opcodes_where(is_middle) == Image{0x01, 0x07, 0x0e});
  REQUIRE(opcodes_where(is_last) == Image{0x02, 0x03, 0x08, 0x09, 0x0f, 0x16});
  REQUIRE(opcodes_where(is_only) == Image{0x04, 0x05, 0x0a, 0x0b, 0x10, 0x17});
  REQUIRE(opcodes_where(starts_message) ==
          Image{0x00, 0x04, 0x05, 0x06, 0x0a, 0x0b, 0x0d, 0x10, 0x17});
  REQUIRE(opcodes_where(ends_message) ==
          Image{0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x0f, 0x10, 0x16, 0x17});
  REQUIRE(opcodes_where(has_reth) == Image{0x06, 0x0a, 0x0b, 0x0c});
  REQUIRE(opcodes_where(has_atomic_eth) == Image{0x13, 0x14});
  REQUIRE(opcodes_where(has_aeth) == Image{0x0d, 0x0f, 0x10, 0x11, 0x12});
  REQUIRE(opcodes_where(has_atomic_ack_eth) == Image{0x12});
  REQUIRE(opcodes_where(has_immediate) == Image{0x03, 0x05, 0x09, 0x0b});
  REQUIRE(opcodes_where(has_ieth) == Image{0x16, 0x17});
  REQUIRE(opcodes_where(is_response) == Image{0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12});
  REQUIRE(opcodes_where(is_read_response) == Image{0x0d, 0x0e, 0x0f, 0x10});
  REQUIRE(opcodes_where(is_atomic) == Image{0x13, 0x14});
  REQUIRE(opcodes_where(is_write) == Image{0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b});
  REQUIRE(opcodes_where(is_send) == Image{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x16, 0x17});
  REQUIRE(opcodes_where([](Opcode o) {
            return is_defined(WireTransport::kRc, o) && !has_payload(o);
          }) == Image{0x0c, 0x11, 0x12, 0x13, 0x14});
  REQUIRE(opcodes_where([](Opcode o) { return is_request(o) && is_response(o); }).empty());
}

TEST_CASE("Opcodes and transports are named") {
  REQUIRE(std::string(name_of(Opcode::kSendFirst)) == "SEND First");
  REQUIRE(std::string(name_of(Opcode::kWriteOnly)) == "RDMA WRITE Only");
  REQUIRE(std::string(name_of(Opcode::kAcknowledge)) == "Acknowledge");
  REQUIRE(std::string(name_of(Opcode::kFetchAdd)) == "FetchAdd");
  REQUIRE(std::string(name_of(Opcode::kSendOnlyInvalidate)) == "SEND Only with Invalidate");
  REQUIRE(std::string(name_of(static_cast<Opcode>(0x15))) == "reserved");
  REQUIRE(std::string(name_of(static_cast<Opcode>(0x18))) == "reserved");
  REQUIRE(std::string(name_of(WireTransport::kUd)) == "UD");
  REQUIRE(std::string(name_of(WireTransport::kCnp)) == "CNP");
  REQUIRE(std::string(name_of(static_cast<WireTransport>(5))) == "reserved");
}

}  // namespace
}  // namespace rnicsim
