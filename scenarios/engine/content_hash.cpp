// SPDX-License-Identifier: MIT
#include "scenarios/engine/content_hash.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <systemc>

#include "scenarios/engine/build_info.h"

namespace rnicsim {
namespace {

using Hash = unsigned __int128;

constexpr Hash kOffset =
    (static_cast<Hash>(0x6c62272e07bb0142U) << 64U) | static_cast<Hash>(0x62b821756295c58dU);
constexpr Hash kPrime = (static_cast<Hash>(1) << 88U) | 0x13bU;

/// Notes are padded to words of four bytes.
constexpr std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

std::string build_id_among(const char* notes, std::size_t size) {
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t content = at + sizeof note + padded(note.n_namesz);
    if (content + note.n_descsz > size) break;
    if (note.n_type == NT_GNU_BUILD_ID) {
      std::string digits;
      for (std::size_t i = 0; i < note.n_descsz; ++i)
        digits += fmt::format("{:02x}", static_cast<unsigned char>(notes[content + i]));
      return digits;
    }
    at = content + padded(note.n_descsz);
  }
  return {};
}

/// The first object is the program itself.
int look_for_build_id(dl_phdr_info* object, std::size_t /*size*/, void* found) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it is how the loader says where it is
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
    auto& id = *static_cast<std::string*>(found);
    id = build_id_among(notes, part.p_memsz);
    if (!id.empty()) break;
  }
  return 1;
}

std::string hash_of_program() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  if (content.empty()) throw std::runtime_error("/proc/self/exe cannot be read");
  return content_hash(content);
}

}  // namespace

std::string content_hash(const std::string& content) {
  Hash hash = kOffset;
  for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64U),
                     static_cast<std::uint64_t>(hash));
}

const std::string& program_identity() {
  static const std::string kIdentity = [] {
    std::string id;
    dl_iterate_phdr(look_for_build_id, &id);
    if (id.empty()) id = hash_of_program();
    return fmt::format("rnicsim {} {}, SystemC {}", build_info().version, id,
                       sc_core::sc_release());
  }();
  return kIdentity;
}

}  // namespace rnicsim
