// SPDX-License-Identifier: MIT
#include "scenarios/engine/pcapng_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "model/byte_order.h"
#include "model/config_error.h"
#include "scenarios/engine/build_info.h"

namespace rnicsim {

namespace {

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;

constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kInterfaceName = 2;
constexpr std::uint16_t kPacketFlags = 2;
constexpr std::uint16_t kUserApplication = 4;
constexpr std::uint16_t kTimeResolution = 9;

constexpr std::uint8_t kPicoseconds = 12;  // 10 to the minus 12

}  // namespace

PcapngFile::PcapngFile(const std::string& path, std::string shown_as,
                       const std::vector<std::string>& interfaces, CaptureLink link)
    : shown_as_(std::move(shown_as)), out_(path, std::ios::binary | std::ios::trunc) {
  if (!out_) cannot_write();
  begin_block(kSectionHeader);
  put32(kByteOrderMagic);
  put16(1);  // version 1.0
  put16(0);
  put32(0xffffffff);  // length of the section: not said
  put32(0xffffffff);
  const std::string application = std::string("rnicsim ") + build_info().version;
  option(kUserApplication, application.data(), application.size());
  end_options();
  end_block();
  for (const std::string& name : interfaces) {
    begin_block(kInterfaceDescription);
    put16(static_cast<std::uint16_t>(link));
    put16(0);
    put32(0);  // no limit to the captured length
    option(kInterfaceName, name.data(), name.size());
    option(kTimeResolution, &kPicoseconds, sizeof kPicoseconds);
    end_options();
    end_block();
  }
}

void PcapngFile::add(std::uint32_t interface, Time time, PacketDirection direction,
                     const std::vector<std::uint8_t>& frame, const std::string& comment) {
  const auto stamp = static_cast<std::uint64_t>(time.ps());
  const auto length = static_cast<std::uint32_t>(frame.size());
  begin_block(kEnhancedPacket);
  put32(interface);
  put32(static_cast<std::uint32_t>(stamp >> 32));
  put32(static_cast<std::uint32_t>(stamp));
  put32(length);
  put32(length);
  put_padded(frame.data(), frame.size());
  std::array<std::uint8_t, 4> flags{};
  store_le32(flags.data(), direction == PacketDirection::kInbound ? 1 : 2);
  option(kPacketFlags, flags.data(), flags.size());
  if (!comment.empty()) option(kComment, comment.data(), comment.size());
  end_options();
  end_block();
}

void PcapngFile::close() {
  out_.close();
  if (!out_) cannot_write();
}

void PcapngFile::begin_block(std::uint32_t type) {
  block_.clear();
  put32(type);
  put32(0);  // length, known at the end
}

void PcapngFile::end_block() {
  const auto length = static_cast<std::uint32_t>(block_.size() + 4);
  store_le32(&block_[4], length);
  put32(length);
  out_.write(reinterpret_cast<const char*>(block_.data()),
             static_cast<std::streamsize>(block_.size()));
}

void PcapngFile::put16(std::uint16_t value) {
  block_.resize(block_.size() + 2);
  store_le16(&block_[block_.size() - 2], value);
}

void PcapngFile::put32(std::uint32_t value) {
  block_.resize(block_.size() + 4);
  store_le32(&block_[block_.size() - 4], value);
}

void PcapngFile::put_padded(const void* bytes, std::size_t size) {
  const auto* const begin = static_cast<const std::uint8_t*>(bytes);
  block_.insert(block_.end(), begin, begin + size);
  block_.resize((block_.size() + 3) / 4 * 4);
}

void PcapngFile::option(std::uint16_t code, const void* bytes, std::size_t size) {
  put16(code);
  put16(static_cast<std::uint16_t>(size));
  put_padded(bytes, size);
}

void PcapngFile::cannot_write() const {
  ConfigError::Detail detail;
  detail.file = shown_as_;
  detail.found = std::string("cannot be written: ") + std::strerror(errno);
  throw ConfigError(std::move(detail));
}

}  // namespace rnicsim
