// SPDX-License-Identifier: MIT
// What a queue pair does with each of the 256 opcode bytes, in each of its states and in the middle
// of what it may be in the middle of: seen by running the NIC, compared with what IBTA says (table
// 38 for the opcodes, 9.7.4.1 and 9.8.2.2 for their order, 9.7.5 for responses) and with the table
// in opcode_table.txt, which RNICSIM_UPDATE=1 writes anew.
//
// Every packet is as right as it can be (PSN, key, lengths), so that only its opcode matters.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "tests/support/rc_bench.h"

using namespace rnicsim;
using test::QpOptions;
using test::RcBench;

namespace {

enum class Situation : std::uint8_t {
  kIdle,
  kInsideWrite,  ///< as responder
  kInsideSend,
  kWriteSent,  ///< as requester
  kReadSent,   ///< of three packets
  kReadBegun,
  kReadAtLast,
  kAtomicSent,
};
constexpr std::uint8_t kSituations = 8;
const char* name_of(Situation situation) {
  static const char* const names[kSituations] = {"idle",         "inside WRITE", "inside SEND",
                                                 "WRITE sent",   "READ sent",    "READ begun",
                                                 "READ at last", "atomic sent"};
  return names[static_cast<std::size_t>(situation)];
}
bool as_requester(Situation situation) { return situation >= Situation::kWriteSent; }

constexpr std::uint32_t kMtu = 1024;
constexpr std::uint32_t kRest = 64;
constexpr std::uint32_t kQkey = 0x1234;

WireTransport wire_of(Transport transport) {
  if (transport == Transport::kUd) return WireTransport::kUd;
  return transport == Transport::kUc ? WireTransport::kUc : WireTransport::kRc;
}

/// Opcode byte: transport above, operation below.
struct Byte {
  std::uint8_t value;
  WireTransport transport() const { return static_cast<WireTransport>(value >> 5); }
  Opcode opcode() const { return static_cast<Opcode>(value & 31); }
};

/// One queue pair, brought into a state and a situation.
struct Bench : RcBench {
  explicit Bench(Transport transport) : RcBench({}, options(transport)), transport(transport) {}
  static QpOptions options(Transport transport) {
    QpOptions qp = test::reliable();
    qp.transport = transport;
    qp.qkey = kQkey;
    qp.retry_count = 7;
    return qp;
  }

  PacketRef packet(Byte byte, std::uint32_t psn, std::uint32_t total) {
    const Opcode opcode = byte.opcode();
    const bool whole = is_first(opcode) || is_middle(opcode);
    PacketRef made = request(opcode, Psn(psn), has_payload(opcode) ? (whole ? kMtu : kRest) : 0);
    made->bth.transport = byte.transport();
    made->bth.ack_req = !whole;
    made->reth.virtual_address = VirtualAddress(region.start);
    made->reth.r_key = region.key;
    made->reth.dma_length = is_first(opcode) ? total : kRest;
    made->aeth = Aeth::ack(1);
    made->deth.q_key = kQkey;
    return made;
  }
  void prepare(QpState state, Situation situation, std::uint32_t total) {
    const bool sends = as_requester(situation);
    // Where the situation can be reached from which the state can.
    const bool early = situation == Situation::kIdle || state == QpState::kRtr;
    const QpState by =
        early && (state == QpState::kInit || state == QpState::kRtr) ? state : QpState::kRts;
    driver().restart_qp(Qpn(1), by);
    for (int i = 0; i < 3; ++i) post_receive(0x2000, 4 * kMtu);
    if (sends)
      post_request(situation);
    else if (situation != Situation::kIdle)
      begin_message(situation == Situation::kInsideWrite ? Opcode::kWriteFirst : Opcode::kSendFirst,
                    total);
    move_to(by, state);
    driver().poll(Cqn(1));
    forget();
  }
  void begin_message(Opcode opcode, std::uint32_t total) {
    const auto byte = static_cast<std::uint8_t>(static_cast<unsigned>(wire_of(transport)) << 5 |
                                                static_cast<unsigned>(opcode));
    give({packet(Byte{byte}, 100, total)});
  }
  void post_request(Situation situation) {
    if (situation == Situation::kWriteSent)
      write(0, kRest);
    else if (situation == Situation::kAtomicSent)
      fetch_add(0, 1);
    else
      read(0, 2 * kMtu + kRest);
    ring();
    if (situation == Situation::kReadBegun || situation == Situation::kReadAtLast)
      give({answer(Opcode::kReadResponseFirst, 100, kMtu)});
    if (situation == Situation::kReadAtLast) give({answer(Opcode::kReadResponseMiddle, 101, kMtu)});
  }
  void move_to(QpState from, QpState to) {
    if (from == to) return;
    if (to == QpState::kInit) driver().restart_qp(Qpn(1), to);
    if (to == QpState::kInit) return;
    REQUIRE(driver().modify_qp(Qpn(1), to) == abi::CommandStatus::kOk);
  }
  void forget() {
    wire.packets.clear();
    arriving.clear();
    host.memory.log.clear();
  }

  /// What came of the packet, in a word or two.
  std::string outcome() {
    const bool written = !payload(true).empty() || !reads_of(DmaPurpose::kAtomic).empty();
    const auto entries = driver().poll(Cqn(1));
    if (!wire.packets.empty()) return said_by(*wire.packets[0]);
    for (const abi::Cqe& cqe : entries) {
      if (cqe.opcode == abi::CqeOpcode::kRequest) return "completes";
      if (cqe.opcode == abi::CqeOpcode::kRequestError) return rnicsim::name_of(cqe.status);
    }
    return written ? "taken" : "-";
  }
  static std::string said_by(const Packet& packet) {
    if (is_request(packet.bth.opcode)) return "asked again";
    if (is_read_response(packet.bth.opcode)) return "READ data";
    if (packet.bth.opcode == Opcode::kAtomicAcknowledge) return "result";
    if (packet.aeth.is_rnr_nak()) return "RNR NAK";
    return packet.aeth.is_nak() ? "NAK: " + std::string(rnicsim::name_of(packet.aeth.nak_code()))
                                : "ACK";
  }
  std::vector<std::uint8_t> context() {
    std::vector<std::uint8_t> bytes(abi::QpContext::kBytes);
    driver().query_qp(Qpn(1)).write(bytes.data());
    return bytes;
  }
  Transport transport;
};

using Outcomes = std::array<std::string, 256>;

/// All opcode bytes in one state and situation. The queue pair is brought there anew when the last
/// packet left a trace.
Outcomes run_all(Bench& bench, QpState state, Situation situation) {
  Outcomes outcomes;
  std::uint32_t prepared = 0;
  std::vector<std::uint8_t> before;
  for (unsigned value = 0; value < 256; ++value) {
    const Byte byte{static_cast<std::uint8_t>(value)};
    const std::uint32_t total = (is_middle(byte.opcode()) ? 2 : 1) * kMtu + kRest;
    if (total != prepared) {
      bench.prepare(state, situation, total);
      before = bench.context();
      prepared = total;
    }
    std::uint32_t psn = 100;
    if (!as_requester(situation) && situation != Situation::kIdle) psn = 101;
    if (is_response(byte.opcode()) && situation == Situation::kReadBegun) psn = 101;
    if (is_response(byte.opcode()) && situation == Situation::kReadAtLast) psn = 102;
    bench.forget();
    bench.give({bench.packet(byte, psn, total)});
    outcomes[value] = bench.outcome();
    const bool traceless = outcomes[value] == "-" && bench.context() == before;
    if (!traceless) prepared = 0;
  }
  return outcomes;
}

// ---- What IBTA says -----------------------------------------------------------------------------

bool receives(QpState state) {
  return state == QpState::kRtr || state == QpState::kRts || state == QpState::kSqd;
}
bool one_of(Opcode opcode, std::initializer_list<Opcode> some) {
  return std::find(some.begin(), some.end(), opcode) != some.end();
}

/// 9.7.4.1.3 and 9.7.4.1.4: nothing but the rest of a message inside it, nothing but its beginning
/// outside, nothing reserved.
std::string request_expected(Situation situation, Opcode opcode) {
  const std::string refused = "NAK: " + std::string(rnicsim::name_of(NakCode::kInvalidRequest));
  if (situation == Situation::kInsideWrite) {
    if (opcode == Opcode::kWriteMiddle) return "taken";
    return one_of(opcode, {Opcode::kWriteLast, Opcode::kWriteLastImm}) ? "ACK" : refused;
  }
  if (situation == Situation::kInsideSend) {
    if (opcode == Opcode::kSendMiddle) return "taken";
    return one_of(opcode, {Opcode::kSendLast, Opcode::kSendLastImm, Opcode::kSendLastInvalidate})
               ? "ACK"
               : refused;
  }
  if (one_of(opcode, {Opcode::kSendFirst, Opcode::kWriteFirst})) return "taken";
  if (one_of(opcode, {Opcode::kSendOnly, Opcode::kSendOnlyImm, Opcode::kSendOnlyInvalidate,
                      Opcode::kWriteOnly, Opcode::kWriteOnlyImm}))
    return "ACK";
  if (opcode == Opcode::kReadRequest) return "READ data";
  return one_of(opcode, {Opcode::kCompareSwap, Opcode::kFetchAdd}) ? "result" : refused;
}

/// 9.7.5.2: answers nothing (dropped), answers what is waited for, or is bad. First is not told
/// from middle nor only from last, see Completer::fits.
std::string response_expected(QpState state, Situation situation, Opcode opcode) {
  if (state != QpState::kRts && state != QpState::kSqd) return "-";
  const std::string bad = rnicsim::name_of(CompletionStatus::kBadResponse);
  const bool acknowledge = opcode == Opcode::kAcknowledge;
  const char* again = "asked again";  // also while the send queue drains
  switch (situation) {
    case Situation::kWriteSent:
      return acknowledge ? "completes" : "-";
    case Situation::kReadSent:
    case Situation::kReadBegun:
      if (acknowledge) return again;
      return one_of(opcode, {Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle}) ? "taken"
                                                                                       : bad;
    case Situation::kReadAtLast:
      if (acknowledge) return again;
      return one_of(opcode, {Opcode::kReadResponseLast, Opcode::kReadResponseOnly}) ? "completes"
                                                                                    : bad;
    case Situation::kAtomicSent:
      if (acknowledge) return again;
      return opcode == Opcode::kAtomicAcknowledge ? "completes" : bad;
    default:
      return "-";
  }
}

/// 9.8.2.2: what does not fit is dropped in silence; a message that begins ends the one before it.
std::string unreliable_expected(Situation situation, Opcode opcode) {
  if (one_of(opcode, {Opcode::kSendFirst, Opcode::kSendOnly, Opcode::kSendOnlyImm,
                      Opcode::kWriteFirst, Opcode::kWriteOnly, Opcode::kWriteOnlyImm}))
    return "taken";
  const std::string reliable = request_expected(situation, opcode);
  return reliable == "ACK" || reliable == "taken" ? "taken" : "-";
}

/// The operations of table 38.
bool listed(Transport transport, Opcode opcode) {
  const auto number = static_cast<unsigned>(opcode);
  if (transport == Transport::kRc) return number <= 0x14 || number == 0x16 || number == 0x17;
  if (transport == Transport::kUc) return number <= 0x0b;
  return number == 0x04 || number == 0x05;
}

std::string expected(Transport transport, QpState state, Situation situation, Byte byte) {
  const Opcode opcode = byte.opcode();
  if (byte.transport() != wire_of(transport)) return "-";
  if (!listed(transport, opcode) && transport != Transport::kRc) return "-";
  const auto number = static_cast<unsigned>(opcode);
  if (transport == Transport::kRc && number >= 0x0d && number <= 0x12)
    return response_expected(state, situation, opcode);
  if (!receives(state)) return "-";
  if (transport == Transport::kRc) return request_expected(situation, opcode);
  return transport == Transport::kUc ? unreliable_expected(situation, opcode) : "taken";
}

// ---- The table ----------------------------------------------------------------------------------

struct Column {
  Situation situation;
  Outcomes outcomes;
  bool operator==(const Column& other) const {
    return situation == other.situation && outcomes == other.outcomes;
  }
};

const char* name_of(Transport transport) { return rnicsim::name_of(wire_of(transport)); }

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

void print_block(std::ostream& out, const std::string& title, const std::vector<Column>& columns) {
  constexpr std::size_t kName = 38;
  constexpr std::size_t kCell = 22;
  out << title << '\n';
  std::string head = padded("", kName);
  for (const Column& column : columns) head += padded(name_of(column.situation), kCell);
  out << head.substr(0, head.find_last_not_of(' ') + 1) << '\n';
  unsigned others = 0;
  for (unsigned value = 0; value < 256; ++value) {
    const Byte byte{static_cast<std::uint8_t>(value)};
    bool any = false;
    for (const Column& column : columns) any |= column.outcomes[value] != "-";
    if (!any) {
      ++others;
      continue;
    }
    char number[8];
    std::snprintf(number, sizeof number, "%02x ", value);
    std::string line = padded(number + std::string(rnicsim::name_of(byte.opcode())), kName);
    for (const Column& column : columns) line += padded(column.outcomes[value], kCell);
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
  out << padded(std::to_string(others) + (others == 256 ? " opcodes" : " others"), kName)
      << "all dropped\n\n";
}

std::vector<Column> run_state(Bench& bench, QpState state) {
  std::vector<Column> columns;
  for (std::uint8_t i = 0; i < kSituations; ++i) {
    const auto situation = static_cast<Situation>(i);
    const bool sends = as_requester(situation);
    if (bench.transport == Transport::kUd && situation != Situation::kIdle) continue;
    if (sends && (bench.transport != Transport::kRc ||
                  (state != QpState::kRts && state != QpState::kSqd && state != QpState::kErr)))
      continue;
    columns.push_back({situation, run_all(bench, state, situation)});
  }
  return columns;
}

/// Counts cells that are not what IBTA says, and tells them.
unsigned compare(Transport transport, QpState state, const std::vector<Column>& columns) {
  unsigned wrong = 0;
  for (const Column& column : columns) {
    for (unsigned value = 0; value < 256; ++value) {
      const Byte byte{static_cast<std::uint8_t>(value)};
      const std::string want = expected(transport, state, column.situation, byte);
      if (column.outcomes[value] == want) continue;
      ++wrong;
      UNSCOPED_INFO(name_of(transport)
                    << " " << rnicsim::name_of(state) << ", " << name_of(column.situation)
                    << ", byte " << value << ": " << column.outcomes[value] << ", not " << want);
    }
  }
  return wrong;
}

/// Operations that were carried out in some situation of some state.
std::size_t carried_out(const std::vector<std::vector<Column>>& blocks) {
  std::map<unsigned, bool> done;
  for (const auto& columns : blocks)
    for (const Column& column : columns)
      for (unsigned value = 0; value < 256; ++value)
        for (const char* good : {"taken", "ACK", "READ data", "result", "completes"})
          if (column.outcomes[value] == good) done[value] = true;
  return done.size();
}

/// Runs one transport and returns its part of the table; states that behave alike share a block.
std::string run_transport(Transport transport, std::size_t operations) {
  Bench bench(transport);
  std::vector<std::vector<Column>> blocks;
  std::vector<std::string> titles;
  for (const QpState state : {QpState::kRts, QpState::kSqd, QpState::kRtr, QpState::kReset,
                              QpState::kInit, QpState::kErr}) {
    std::vector<Column> columns = run_state(bench, state);
    CHECK(compare(transport, state, columns) == 0);
    const auto same = std::find(blocks.begin(), blocks.end(), columns);
    if (same != blocks.end()) {
      titles[static_cast<std::size_t>(same - blocks.begin())] +=
          std::string(", ") + rnicsim::name_of(state);
      continue;
    }
    blocks.push_back(std::move(columns));
    titles.push_back(std::string(name_of(transport)) + ", queue pair in " +
                     rnicsim::name_of(state));
  }
  CHECK(carried_out(blocks) == operations);
  std::ostringstream out;
  for (std::size_t i = 0; i < blocks.size(); ++i) print_block(out, titles[i], blocks[i]);
  CHECK(bench.host.nic.idle());
  return out.str();
}

void check_table(Transport transport, std::size_t operations) {
  const std::string table = run_transport(transport, operations);
  std::cout << table;
  const std::string path = "tests/nic/opcode_table_" + std::string(name_of(transport)) + ".txt";
  if (std::getenv("RNICSIM_UPDATE") != nullptr) std::ofstream(path) << table;
  std::ifstream file(path);
  std::ostringstream golden;
  golden << file.rdbuf();
  CHECK(table == golden.str());
}

}  // namespace

TEST_CASE("a reliable connection treats every opcode as IBTA says, in every state") {
  check_table(Transport::kRc, 23);
}
TEST_CASE("an unreliable connection treats every opcode as IBTA says, in every state") {
  check_table(Transport::kUc, 12);
}
TEST_CASE("an unreliable datagram treats every opcode as IBTA says, in every state") {
  check_table(Transport::kUd, 2);
}
