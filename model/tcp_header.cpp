// SPDX-License-Identifier: MIT
#include "model/tcp_header.h"

#include <fmt/format.h>

#include "model/byte_order.h"

namespace rnicsim {

namespace {

enum Flag : std::uint8_t {
  kFin = 0x01,
  kSyn = 0x02,
  kRst = 0x04,
  kPsh = 0x08,
  kAck = 0x10,
  kEce = 0x40,
  kCwr = 0x80,
};

enum Option : std::uint8_t {
  kEnd = 0,
  kNop = 1,
  kMss = 2,
  kWindowScale = 3,
  kSackPermitted = 4,
  kSack = 5,
  kTimestamps = 8,
};

constexpr std::size_t kMssBytes = 4;
constexpr std::size_t kWindowScaleBytes = 3;
constexpr std::size_t kSackPermittedBytes = 2;
constexpr std::size_t kTimestampsBytes = 10;
constexpr std::size_t kBlockBytes = 8;

std::uint8_t flags_of(const TcpHeader& h) {
  const auto bit = [](bool set, Flag flag) { return set ? flag : 0; };
  return static_cast<std::uint8_t>(bit(h.fin, kFin) | bit(h.syn, kSyn) | bit(h.rst, kRst) |
                                   bit(h.psh, kPsh) | bit(h.ack, kAck) | bit(h.ece, kEce) |
                                   bit(h.cwr, kCwr));
}

struct FlagName {
  Flag flag;
  const char* name;
};
constexpr FlagName kFlagNames[] = {{kSyn, "SYN"}, {kFin, "FIN"}, {kRst, "RST"}, {kPsh, "PSH"},
                                   {kAck, "ACK"}, {kEce, "ECE"}, {kCwr, "CWR"}};

class OptionWriter {
 public:
  explicit OptionWriter(std::uint8_t* at) : at_(at) {}
  void byte(std::uint8_t value) { *at_++ = value; }
  void word(std::uint32_t value) {
    store_be32(at_, value);
    at_ += 4;
  }
  void begin(Option kind, std::size_t bytes) {
    byte(kind);
    byte(static_cast<std::uint8_t>(bytes));
  }
  void pad(int count) {
    for (; count > 0; --count) byte(kNop);
  }

 private:
  std::uint8_t* at_;
};

void write_options(const TcpHeader& h, std::uint8_t* at) {
  OptionWriter out(at);
  if (h.mss != 0) {
    out.begin(kMss, kMssBytes);
    out.byte(static_cast<std::uint8_t>(h.mss >> 8));
    out.byte(static_cast<std::uint8_t>(h.mss));
  }
  if (h.sack_permitted || h.has_timestamps) {
    // SACK permitted stands where the padding of timestamps would.
    if (!h.sack_permitted || !h.has_timestamps) out.pad(2);
    if (h.sack_permitted) out.begin(kSackPermitted, kSackPermittedBytes);
    if (h.has_timestamps) {
      out.begin(kTimestamps, kTimestampsBytes);
      out.word(h.timestamp);
      out.word(h.timestamp_echo);
    }
  }
  if (h.has_window_scale) {
    out.pad(1);
    out.begin(kWindowScale, kWindowScaleBytes);
    out.byte(h.window_scale);
  }
  if (h.sack_blocks == 0) return;
  out.pad(2);
  out.begin(kSack, 2 + kBlockBytes * h.sack_blocks);
  for (std::size_t i = 0; i < h.sack_blocks; ++i) {
    out.word(h.sack[i].first.value());
    out.word(h.sack[i].behind.value());
  }
}

const char* read_sack(const std::uint8_t* at, std::size_t bytes, TcpHeader& h) {
  const std::size_t blocks = (bytes - 2) / kBlockBytes;
  if ((bytes - 2) % kBlockBytes != 0 || blocks == 0 || blocks > TcpHeader::kMaxSackBlocks)
    return "SACK option of no possible length";
  h.sack_blocks = static_cast<std::uint8_t>(blocks);
  for (std::size_t i = 0; i < blocks; ++i)
    h.sack[i] = {TcpSeq(load_be32(at + 2 + i * kBlockBytes)),
                 TcpSeq(load_be32(at + 6 + i * kBlockBytes))};
  return nullptr;
}

const char* read_option(const std::uint8_t* at, std::size_t bytes, TcpHeader& h) {
  constexpr const char* kWrongLength = "TCP option of the wrong length";
  switch (at[0]) {
    case kMss:
      if (bytes != kMssBytes) return kWrongLength;
      h.mss = load_be16(at + 2);
      return nullptr;
    case kWindowScale:
      if (bytes != kWindowScaleBytes) return kWrongLength;
      h.has_window_scale = true;
      h.window_scale = at[2];
      return nullptr;
    case kSackPermitted:
      if (bytes != kSackPermittedBytes) return kWrongLength;
      h.sack_permitted = true;
      return nullptr;
    case kTimestamps:
      if (bytes != kTimestampsBytes) return kWrongLength;
      h.has_timestamps = true;
      h.timestamp = load_be32(at + 2);
      h.timestamp_echo = load_be32(at + 6);
      return nullptr;
    case kSack:
      return read_sack(at, bytes, h);
    default:
      return "a TCP option that is not modelled";
  }
}

const char* read_options(const std::uint8_t* at, std::size_t size, TcpHeader& h) {
  while (size != 0) {
    if (at[0] == kEnd) return nullptr;
    std::size_t bytes = 1;
    if (at[0] != kNop) {
      if (size < 2 || at[1] < 2 || at[1] > size) return "TCP option that does not fit the header";
      bytes = at[1];
      if (const char* error = read_option(at, bytes, h)) return error;
    }
    at += bytes;
    size -= bytes;
  }
  return nullptr;
}

}  // namespace

std::string text_of(const TcpMark& mark) {
  std::string flags;
  for (const FlagName& flag : kFlagNames) {
    if ((mark.flags & flag.flag) == 0) continue;
    if (!flags.empty()) flags += ',';
    flags += flag.name;
  }
  return fmt::format("{} > {}, seq {}, {} B{}", mark.source_port, mark.destination_port,
                     mark.sequence.value(), mark.payload,
                     flags.empty() ? "" : fmt::format(" [{}]", flags));
}

TcpMark TcpHeader::mark(std::uint32_t payload) const {
  return {source_port, destination_port, sequence, payload, flags_of(*this)};
}

std::size_t TcpHeader::bytes() const {
  std::size_t total = kBytes;
  if (mss != 0) total += kMssBytes;
  if (has_timestamps)
    total += kTimestampBytes;
  else if (sack_permitted)
    total += 4;
  if (has_window_scale) total += 4;
  if (sack_blocks != 0) total += 4 + kBlockBytes * sack_blocks;
  return total;
}

void TcpHeader::write(std::uint8_t* at, std::uint16_t checksum) const {
  store_be16(at, source_port);
  store_be16(at + 2, destination_port);
  store_be32(at + 4, sequence.value());
  store_be32(at + 8, acknowledgement.value());
  at[12] = static_cast<std::uint8_t>(bytes() / 4 << 4);
  at[13] = flags_of(*this);
  store_be16(at + 14, window);
  store_be16(at + kChecksumOffset, checksum);
  store_be16(at + 18, 0);
  write_options(*this, at + kBytes);
}

const char* TcpHeader::read(const std::uint8_t* at, std::size_t size, TcpHeader& header) {
  if (size < kBytes) return "shorter than a TCP header";
  const std::size_t bytes = static_cast<std::size_t>(at[12] >> 4) * 4;
  if (bytes < kBytes || bytes > size) return "TCP data offset does not fit the packet";
  header = TcpHeader();
  header.source_port = load_be16(at);
  header.destination_port = load_be16(at + 2);
  header.sequence = TcpSeq(load_be32(at + 4));
  header.acknowledgement = TcpSeq(load_be32(at + 8));
  const std::uint8_t flags = at[13];
  header.fin = (flags & kFin) != 0;
  header.syn = (flags & kSyn) != 0;
  header.rst = (flags & kRst) != 0;
  header.psh = (flags & kPsh) != 0;
  header.ack = (flags & kAck) != 0;
  header.ece = (flags & kEce) != 0;
  header.cwr = (flags & kCwr) != 0;
  header.window = load_be16(at + 14);
  return read_options(at + kBytes, bytes - kBytes, header);
}

}  // namespace rnicsim
