// SPDX-License-Identifier: MIT
#include "fabric/fault_config.h"

#include <fnmatch.h>
#include <strings.h>

namespace rnicsim {

namespace {

std::string no_such_opcode() {
  return std::string("matches no opcode; they are called such as \"") +
         name_of(Opcode::kWriteMiddle) + "\" and \"" + name_of(Opcode::kAcknowledge) + '"';
}

std::optional<Opcode> opcode_named(const std::string& name) {
  for (unsigned byte = 0; byte < 32; ++byte) {
    const auto opcode = static_cast<Opcode>(byte);
    if (is_defined(WireTransport::kRc, opcode) && strcasecmp(name.c_str(), name_of(opcode)) == 0)
      return opcode;
  }
  return std::nullopt;
}

std::size_t header_bytes(Opcode opcode) {
  Bth bth;
  bth.opcode = opcode;
  return extension_bytes(bth);
}

}  // namespace

void FaultRule::describe(Fields& f) {
  f.required().choice("kind", kind,
                      {{"drop", FaultKind::kDrop},
                       {"corrupt_icrc", FaultKind::kCorruptIcrc},
                       {"corrupt_fcs", FaultKind::kCorruptFcs},
                       {"wrong_opcode", FaultKind::kWrongOpcode},
                       {"duplicate", FaultKind::kDuplicate},
                       {"reorder", FaultKind::kReorder},
                       {"delay", FaultKind::kDelay},
                       {"down", FaultKind::kDown}},
                      "what happens to a packet");
  f.optional_identifier("name", name, "name of the rule in metrics; its index if not given");
  f.choice("direction", direction,
           {{"forward", FaultDirection::kForward},
            {"backward", FaultDirection::kBackward},
            {"both", FaultDirection::kBoth}},
           "forward: from the first host; both: each direction by itself");
  f.optional("link", link,
             "only on links whose name matches this glob: \"A-switch0\", \"leaf*-*\"");
  f.choice(
      "protocol", protocol,
      {{"any", FaultProtocol::kAny}, {"rdma", FaultProtocol::kRdma}, {"tcp", FaultProtocol::kTcp}},
      "only packets of RDMA, or segments of TCP; any: these and pause frames or flow control");
  f.optional(
      "opcode", opcode,
      "only packets of RDMA whose opcode's name matches this glob, such as \"*write middle\"");
  f.optional("psn", psn, range(0, static_cast<int>(Psn::kMask)),
             "only packets of RDMA with this packet sequence number");
  f.optional("ipv4_identification_low_byte", ipv4_identification_low_byte, range(0, 255),
             "only packets whose IPv4 identification ends in this byte");
  f.optional("from", from, "only packets whose first bit is sent then or later");
  f.optional("until", until, "only packets whose first bit is sent before that");
  f.optional("probability", probability, range(0.0, 1.0),
             "chance of each matching packet; certain if not given");
  f.optional("every", every, range(std::uint64_t{1}, std::uint64_t{1} << 40),
             "of the matching packets, each so-manieth");
  f.optional("first", first, range(std::uint64_t{1}, std::uint64_t{1} << 40),
             "the first matching packet to suffer, counted from 1; `every` if that is given");
  f.optional("count", count, range(std::uint64_t{1}, std::uint64_t{1} << 40),
             "how many packets suffer at most; no limit if not given");
  f.optional("delay", delay, range(Time::ps(1), Time::s(1)),
             "delay: how much later; reorder: how long to wait for others at most (10 us)");
  f.optional("behind", behind, range(1, 65536),
             "reorder: how many later packets go first; 1 if not given");
  f.optional(
      "sent_as", sent_as,
      "wrong_opcode: name of the opcode that the packet carries instead, with the right ICRC; "
      "only packets whose headers are as long suffer");
  f.check(!probability || !every, "every", "given together with \"probability\"; choose one");
  f.check(!from || !until || *from < *until, "until", "must be later than \"from\"");
  f.check(!delay || kind == FaultKind::kDelay || kind == FaultKind::kReorder, "delay",
          "goes with kind \"delay\" or \"reorder\" only");
  f.check(delay || kind != FaultKind::kDelay, "delay", "missing; kind \"delay\" needs it");
  f.check(!behind || kind == FaultKind::kReorder, "behind", "goes with kind \"reorder\" only");
  const bool wrong = kind == FaultKind::kWrongOpcode;
  f.check(!sent_as || wrong, "sent_as", "goes with kind \"wrong_opcode\" only");
  f.check(sent_as || !wrong, "sent_as", "missing; kind \"wrong_opcode\" needs it");
  f.check(!sent_as || opcode_named(*sent_as), "sent_as", no_such_opcode());
  const bool down = kind == FaultKind::kDown;
  f.check(!down || from, "from", "missing; kind \"down\" needs it");
  f.check(!down || until, "until", "missing; kind \"down\" needs it");
  const auto not_down = [&](const char* field, bool given) {
    f.check(!down || !given, field, "a link that is down loses every packet: remove it");
  };
  not_down("protocol", protocol != FaultProtocol::kAny);
  not_down("opcode", opcode.has_value());
  not_down("psn", psn.has_value());
  not_down("ipv4_identification_low_byte", ipv4_identification_low_byte.has_value());
  not_down("probability", probability.has_value());
  not_down("every", every.has_value());
  not_down("first", first.has_value());
  not_down("count", count.has_value());
  const bool tcp = protocol == FaultProtocol::kTcp;
  f.check(!tcp || !opcode, "opcode", "segments of TCP have none: remove it");
  f.check(!tcp || !psn, "psn", "segments of TCP have none: remove it");
  f.check(!tcp || !wrong, "protocol", "segments of TCP have no opcode that could be wrong");
  f.check(tcp || selects_any(), "opcode",
          wrong ? "matches no opcode with headers as long as \"sent_as\"" : no_such_opcode());
}

bool FaultRule::acts_on(const std::string& link_name) const {
  return !link || fnmatch(link->c_str(), link_name.c_str(), 0) == 0;
}

Opcode FaultRule::false_opcode() const { return *opcode_named(*sent_as); }

/// A packet keeps its length, whatever it says it is.
bool FaultRule::selects(Opcode one_opcode) const {
  if (kind == FaultKind::kWrongOpcode && sent_as && opcode_named(*sent_as) &&
      header_bytes(false_opcode()) != header_bytes(one_opcode))
    return false;
  return !opcode || fnmatch(opcode->c_str(), name_of(one_opcode), FNM_CASEFOLD) == 0;
}

bool FaultRule::selects_control(const char* frame) const {
  if (kind == FaultKind::kWrongOpcode || kind == FaultKind::kCorruptIcrc ||
      protocol != FaultProtocol::kAny)
    return false;
  return !opcode || fnmatch(opcode->c_str(), frame, FNM_CASEFOLD) == 0;
}

bool FaultRule::selects_tcp() const {
  return protocol != FaultProtocol::kRdma && kind != FaultKind::kWrongOpcode && !opcode && !psn;
}

bool FaultRule::selects_any() const {
  if (selects_control(kPause) || selects_control(kFlowControl)) return true;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (is_defined(WireTransport::kRc, static_cast<Opcode>(byte)) &&
        selects(static_cast<Opcode>(byte)))
      return true;
  return false;
}

}  // namespace rnicsim
