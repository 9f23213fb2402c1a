// SPDX-License-Identifier: MIT
// Two servers with connected queue pairs between them, and what their programs and the reference
// model know of each end.
#pragma once

#include <bitset>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/software_thread.h"
#include "scenarios/engine/system.h"
#include "tests/scenarios/stress/operation.h"
#include "tests/scenarios/stress/settings.h"

namespace rnicsim::stress {

inline constexpr std::uint32_t kReceiveSlot = kMaxLength + 64;
inline constexpr std::uint8_t kUntouched = 0xA5;  ///< what a receive holds when it is posted
inline constexpr std::uint32_t kQkey = 0x1234;

struct Side;

/// A receive queue and its buffers.
struct Receives {
  Side* side = nullptr;
  QueuePair* qp = nullptr;            ///< whose it is, or
  SharedReceiveQueue* srq = nullptr;  ///< this one
  MemoryRegion region;
  std::uint32_t pieces = 1;
  std::vector<std::uint32_t> free;  ///< slots not posted
  std::uint32_t posted = 0;         ///< and not completed
  unsigned late = 0;                ///< times that some were posted behind a failure
};

/// One side of one queue pair: what it posts, and what its peer posts to it.
struct End {
  Side* side = nullptr;
  End* peer = nullptr;
  unsigned index = 0;
  QueuePair* qp = nullptr;
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* receive_cq = nullptr;
  MemoryRegion region;
  Receives* receives = nullptr;

  // The program's.
  std::vector<Operation> operations;  ///< posted, or about to be
  std::uint32_t posted = 0;
  std::uint32_t unsignaled = 0;
  std::uint32_t answered = 0;  ///< READs and atomics ever posted
  bool in_error = false;       ///< moved there by the program
  unsigned late = 0;           ///< times that something was posted behind a failure

  // The model's, of what this end sends.
  std::uint32_t retired = 0;    ///< operations known to be complete
  std::uint32_t succeeded = 0;  ///< operations before the first that failed
  bool failed = false;
  std::vector<Piece> unfenced_reads;
  Data reference;  ///< window and counters at the peer
  std::vector<std::bitset<256>> allowed;
  std::vector<std::uint32_t> taking;  ///< operations that take a receive of the peer
  std::vector<std::uint8_t> arrived;  ///< times that an operation took one
  std::uint32_t last_arrived = 0;
  std::uint32_t received = 0;  ///< receives that the peer completed with success
  // Of what it receives.
  bool receive_failed = false;
};

struct Side {
  explicit Side(System::Server& at) : server(at), process(*at.host) {}
  System::Server& server;
  Process process;
  PdNumber pd{};
  std::vector<CompletionQueue*> cqs;
  std::deque<End> ends;
  std::deque<Receives> queues;
  std::vector<std::uint64_t> shared_originals;
  std::uint32_t shared_adds = 0;  ///< posted by the other side to this side's shared counter
  std::uint64_t completions = 0;

  Data load(VirtualAddress address, std::size_t bytes);
  void store(VirtualAddress address, const Data& data);
  End& end_of(Qpn qpn);
};

VirtualAddress at(const MemoryRegion& region, std::uint64_t offset);

class TwoServers {
 public:
  /// Draws what the settings leave open; both outlive this.
  TwoServers(const Settings& settings, Draws& draws);

  /// Makes and connects all queue pairs. Throws if a verb refuses.
  void open();
  /// A program begins at one side; an exception ends it and is its failure.
  void start(Side& side, std::function<void(CpuTask&)> body);
  bool finished() const;
  const std::string& failure() const { return failure_; }
  void run_for(Time time) { scheduler().run_until(scheduler().now() + time); }
  Scheduler& scheduler() { return system.scheduler(); }

  System system;
  Side a;
  Side b;

 private:
  void start_and_end(Side& side, std::function<void(CpuTask&)> body);
  MemoryRegion region(CpuTask& task, Side& side, std::uint32_t bytes);
  Receives& receive_queue(CpuTask& task, Side& side);
  void create(CpuTask& task, Side& side);
  void create_end(CpuTask& task, Side& side, unsigned index, Receives* shared);
  void connect(CpuTask& task, End& end);
  /// Every other queue pair's PSNs wrap around soon.
  static Psn first_psn(const End& end);

  const Settings& s_;
  Draws& draws_;
  std::deque<std::unique_ptr<SoftwareThread>> threads_;
  std::string failure_;
};

}  // namespace rnicsim::stress
