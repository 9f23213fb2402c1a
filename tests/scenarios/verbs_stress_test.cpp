// SPDX-License-Identifier: MIT
// Random programs on two servers, over real verbs, NICs and a faulty cable, held against a trivial
// reference model of verbs: the operations of a queue pair take effect in the order of their
// posting, each once. Memory of both sides, every completion, every receive and what every READ and
// atomic brought are compared.
//
// RNICSIM_STRESS_SEED=n runs one seed of a test case, in its own process (a run with a debugger).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/byte_order.h"
#include "model/random.h"
#include "model/software_thread.h"
#include "scenarios/engine/system.h"

using namespace rnicsim;
using namespace rnicsim::literals;

namespace {

using Data = std::vector<std::uint8_t>;

enum Kind : unsigned { kWrite, kWriteImm, kRead, kSend, kSendImm, kCompareSwap, kFetchAdd, kKinds };

constexpr abi::WqeOpcode kOpcodes[kKinds] = {
    abi::WqeOpcode::kRdmaWrite,     abi::WqeOpcode::kRdmaWriteImm,
    abi::WqeOpcode::kRdmaRead,      abi::WqeOpcode::kSend,
    abi::WqeOpcode::kSendImm,       abi::WqeOpcode::kAtomicCompareSwap,
    abi::WqeOpcode::kAtomicFetchAdd};
constexpr WcOpcode kCompletedAs[kKinds] = {
    WcOpcode::kRdmaWrite, WcOpcode::kRdmaWrite,   WcOpcode::kRdmaRead, WcOpcode::kSend,
    WcOpcode::kSend,      WcOpcode::kCompareSwap, WcOpcode::kFetchAdd};

bool is_atomic(Kind kind) { return kind == kCompareSwap || kind == kFetchAdd; }
bool is_write(Kind kind) { return kind == kWrite || kind == kWriteImm; }
bool is_send(Kind kind) { return kind == kSend || kind == kSendImm; }
bool takes_receive(Kind kind) { return is_send(kind) || kind == kWriteImm; }
bool with_immediate(Kind kind) { return kind == kSendImm || kind == kWriteImm; }

// One side's memory of one queue pair, as offsets into its region.
constexpr std::uint32_t kWindow = 8192;       ///< from 0: the peer WRITEs and READs there
constexpr std::uint32_t kCounters = kWindow;  ///< of the peer's atomics
constexpr std::uint32_t kCounterCount = 8;
constexpr std::uint32_t kShared =
    kCounters + 8 * kCounterCount;  ///< of all queue pairs, in the first's
constexpr std::uint32_t kReferenced = kShared;
constexpr std::uint32_t kSource = 12288;  ///< what WRITEs and SENDs take, never changed
constexpr std::uint32_t kSourceBytes = 8192;
constexpr std::uint32_t kTargets = kSource + kSourceBytes;  ///< of READs and atomics
constexpr std::uint32_t kTargetSlots = 64;
constexpr std::uint32_t kMaxLength = 6144;
constexpr std::uint32_t kRegion = kTargets + kTargetSlots * kMaxLength;
constexpr std::uint32_t kReceiveSlot = kMaxLength + 64;
constexpr std::uint32_t kGrh = 40;
constexpr std::uint64_t kReceiveId = 1ULL << 63;
constexpr std::uint8_t kUntouched = 0xA5;
constexpr MemoryKey kWrongKey{0x123456};

struct Settings {
  std::uint64_t seed = 1;
  Transport transport = Transport::kRc;
  bool may_fail = false;
  unsigned kinds = (1U << kKinds) - 1;
  unsigned queue_pairs = 1;
  unsigned operations = 200;  ///< of each queue pair, each way
  std::uint32_t mtu = 1024;
  std::uint32_t max_length = 4096;
  std::uint32_t depth = 16;
  std::uint32_t receives = 16;
  std::uint32_t pieces = 1;
  bool shared_receives = false;
  bool inline_receive = false;
  bool late_receives = false;
  bool wrong_keys = false;
  bool plain = false;  ///< all signaled, no inline data, no fences
  std::uint8_t ack_timeout = 5;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t rnr_timer = 1;
  std::uint8_t max_reads = 16;
  Scenario scenario;
};

struct Piece {
  std::uint32_t offset;
  std::uint32_t length;
};

struct Operation {
  Kind kind = kWrite;
  std::vector<Piece> pieces;
  std::uint32_t length = 0;
  std::uint32_t remote = 0;
  bool signaled = true;
  bool fence = false;
  bool inlined = false;
  bool wrong_lkey = false;
  bool wrong_rkey = false;
  bool shared = false;  ///< a fetch-and-add to the counter that all share
  std::uint32_t immediate = 0;
  std::uint64_t compare = 0;
  std::uint64_t swap_or_add = 0;
  Data data;  ///< what it sends, or must bring
};

/// Throws with what was wrong; ends the run.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};
template <class... Parts>
[[noreturn]] void mismatch(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Mismatch(text.str());
}

std::string text_of(CompletionStatus status) { return name_of(status); }

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

  std::vector<Operation> operations;  ///< posted, or about to be
  std::uint32_t posted = 0;
  std::uint32_t retired = 0;  ///< known to be complete
  std::uint32_t unsignaled = 0;
  std::uint32_t answered = 0;  ///< READs and atomics ever posted
  std::vector<Piece> unfenced_reads;
  std::uint32_t succeeded = 0;  ///< operations before the first that failed
  bool failed = false;
  bool in_error = false;  ///< moved there by the program
  unsigned late = 0;      ///< times that something was posted behind a failure
  Data reference;         ///< window and counters at the peer
  std::vector<std::bitset<256>> allowed;
  std::vector<std::uint32_t> taking;  ///< operations that take a receive of the peer
  std::uint32_t received = 0;         ///< of the peer's
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

  Data load(VirtualAddress address, std::size_t bytes) {
    Data data(bytes);
    if (bytes != 0 && !process.pages.load(address, data.data(), bytes)) mismatch("not mapped");
    return data;
  }
  void store(VirtualAddress address, const Data& data) {
    if (!data.empty() && !process.pages.store(address, data.data(), data.size()))
      mismatch("not mapped");
  }
};

VirtualAddress at(const MemoryRegion& region, std::uint64_t offset) {
  return VirtualAddress(region.address.value() + offset);
}

class Stress {
 public:
  explicit Stress(const Settings& settings)
      : s_(settings),
        random_(seed_for(settings.seed, "stress")),
        system_("system", s_.scenario),
        a_(system_.server("A")),
        b_(system_.server("B")) {}
  void run() {
    open();
    start(a_, [this](CpuTask& task) { work(task, a_); });
    start(b_, [this](CpuTask& task) { work(task, b_); });
    while (!finished() && failure_.empty())
      system_.scheduler().run_until(system_.scheduler().now() + 1_ms);
    if (!failure_.empty()) throw Mismatch(failure_);
    system_.scheduler().run_until(system_.scheduler().now() + 10_ms);
    judge_memory();
    if (!system_.idle()) mismatch("something is still under way");
    for (const std::string& fault : system_.conservation_faults()) mismatch(fault);
  }

 private:
  // -- set-up ---------------------------------------------------------------------------------

  void start(Side& side, std::function<void(CpuTask&)> body) {
    auto& slot = threads_.emplace_back();
    CpuCore& core = side.server.host->core(0);
    slot = std::make_unique<SoftwareThread>(system_.scheduler(),
                                            "program" + std::to_string(threads_.size()),
                                            [this, &slot, &core, body = std::move(body)] {
                                              try {
                                                CpuTask task(core, *slot);
                                                body(task);
                                                task.settle();
                                              } catch (const std::exception& exception) {
                                                if (failure_.empty()) failure_ = exception.what();
                                              }
                                            });
  }
  bool finished() const {
    return std::all_of(threads_.begin(), threads_.end(), [](auto& t) { return t->finished(); });
  }
  void start_and_end(Side& side, std::function<void(CpuTask&)> body) {
    start(side, std::move(body));
    system_.scheduler().run_until(system_.scheduler().now() + Time::ms(100));
    if (!failure_.empty()) throw Mismatch(failure_);
    if (!finished()) mismatch("set-up did not end");
  }

  void open() {
    start_and_end(a_, [this](CpuTask& task) { create(task, a_); });
    start_and_end(b_, [this](CpuTask& task) { create(task, b_); });
    for (unsigned i = 0; i < s_.queue_pairs; ++i) {
      a_.ends[i].peer = &b_.ends[i];
      b_.ends[i].peer = &a_.ends[i];
    }
    start_and_end(a_, [this](CpuTask& task) { connect(task, a_); });
    start_and_end(b_, [this](CpuTask& task) { connect(task, b_); });
  }

  template <class T>
  static T good(const Result<T>& result, const char* what) {
    if (result.error != Errno::kOk) mismatch("set-up: ", what);
    return result.value;
  }
  static void good(Errno error, const char* what) {
    if (error != Errno::kOk) mismatch("set-up: ", what, ": ", static_cast<int>(error));
  }

  MemoryRegion region(CpuTask& task, Side& side, std::uint32_t bytes) {
    const VirtualAddress address = *side.process.pages.map(Bytes(bytes), PageSize::k4KiB);
    const AccessFlags all(AccessFlags::kLocalWrite | AccessFlags::kRemoteWrite |
                          AccessFlags::kRemoteRead | AccessFlags::kRemoteAtomic);
    return good(side.process.verbs.reg_mr(task, side.pd, address, bytes, all), "reg_mr");
  }

  Receives& receive_queue(CpuTask& task, Side& side) {
    Receives& queue = side.queues.emplace_back();
    queue.side = &side;
    queue.region = region(task, side, s_.receives * kReceiveSlot);
    queue.pieces = 1 + static_cast<std::uint32_t>(random_.below(s_.pieces));
    for (std::uint32_t i = 0; i < s_.receives; ++i) queue.free.push_back(i);
    return queue;
  }

  void create(CpuTask& task, Side& side) {
    Verbs& verbs = side.process.verbs;
    good(side.server.host->driver(0).bring_up(task), "bring_up");
    side.pd = verbs.alloc_pd(task);
    const std::uint32_t cqs = 1 + static_cast<std::uint32_t>(random_.below(s_.queue_pairs + 1));
    for (std::uint32_t i = 0; i < cqs; ++i)
      side.cqs.push_back(good(verbs.create_cq(task, 4096), "create_cq"));
    Receives* shared = nullptr;
    if (s_.shared_receives) {
      shared = &receive_queue(task, side);
      shared->srq =
          good(verbs.create_srq(task, side.pd, s_.receives, shared->pieces), "create_srq");
    }
    for (unsigned i = 0; i < s_.queue_pairs; ++i) {
      End& end = side.ends.emplace_back();
      end.side = &side;
      end.index = i;
      end.region = region(task, side, kRegion);
      side.store(end.region.address, random_data(kRegion));
      if (i == 0) side.store(at(end.region, kShared), Data(8));
      end.send_cq = side.cqs[random_.below(cqs)];
      end.receive_cq = side.cqs[random_.below(cqs)];
      end.receives = shared != nullptr ? shared : &receive_queue(task, side);
      QueuePairInit init;
      init.pd = side.pd;
      init.send_cq = end.send_cq;
      init.receive_cq = end.receive_cq;
      init.transport = s_.transport;
      init.max_send_requests = s_.depth;
      init.inline_receive = s_.inline_receive;
      if (shared != nullptr) {
        init.srq = shared->srq;
      } else {
        init.max_recv_requests = s_.receives;
        init.max_recv_segments = end.receives->pieces;
      }
      end.qp = good(verbs.create_qp(task, init), "create_qp");
      if (shared == nullptr) end.receives->qp = end.qp;
    }
  }

  void connect(CpuTask& task, Side& side) {
    Verbs& verbs = side.process.verbs;
    for (End& end : side.ends) {
      QpAttributes attributes;
      attributes.state = QpState::kInit;
      if (s_.transport != Transport::kUd)
        attributes.access = AccessFlags(AccessFlags::kRemoteWrite | AccessFlags::kRemoteRead |
                                        AccessFlags::kRemoteAtomic);
      if (s_.transport == Transport::kUd) attributes.qkey = 0x1234;
      good(verbs.modify_qp(task, end.qp, attributes), "INIT");
      attributes = {};
      attributes.state = QpState::kRtr;
      if (s_.transport != Transport::kUd) {
        attributes.path_mtu = s_.mtu;
        attributes.remote_qpn = end.peer->qp->qpn();
        attributes.remote_ip = end.peer->side->server.ports[0].ip;
        attributes.remote_mac = end.peer->side->server.ports[0].mac;
        attributes.receive_psn = first_psn(*end.peer);
      }
      if (s_.transport == Transport::kRc) {
        attributes.min_rnr_timer = s_.rnr_timer;
        attributes.max_dest_rd_atomic = s_.max_reads;
      }
      good(verbs.modify_qp(task, end.qp, attributes), "RTR");
      attributes = {};
      attributes.state = QpState::kRts;
      attributes.send_psn = first_psn(end);
      if (s_.transport == Transport::kRc) {
        attributes.ack_timeout = s_.ack_timeout;
        attributes.retry_count = s_.retry_count;
        attributes.rnr_retry = s_.rnr_retry;
        attributes.max_rd_atomic = s_.max_reads;
      }
      good(verbs.modify_qp(task, end.qp, attributes), "RTS");
      end.reference = end.peer->side->load(end.peer->region.address, kReferenced);
      end.allowed.resize(kReferenced);
      for (std::uint32_t i = 0; i < kReferenced; ++i) end.allowed[i].set(end.reference[i]);
    }
  }
  /// Every other queue pair's PSNs wrap around soon.
  Psn first_psn(const End& end) const {
    return Psn(end.index % 2 == 0 ? 1 + end.index * 977 : 0xfffff0 - end.index);
  }

  Data random_data(std::size_t bytes) {
    Data data(bytes);
    for (std::size_t i = 0; i < bytes; i += 8) {
      const std::uint64_t word = random_.next();
      for (std::size_t j = i; j < std::min(bytes, i + 8); ++j)
        data[j] = static_cast<std::uint8_t>(word >> (8 * (j - i)));
    }
    return data;
  }
  bool chance(unsigned one_in) { return random_.below(one_in) == 0; }
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_.below(n)); }

  // -- operations and their meaning -----------------------------------------------------------

  Kind random_kind() {
    Kind kind;
    do kind = static_cast<Kind>(random_.below(kKinds));
    while ((s_.kinds >> kind & 1) == 0);
    return kind;
  }

  std::uint32_t random_length() {
    switch (random_.below(6)) {
      case 0:
        return below(33);
      case 1:
        return s_.mtu * below(s_.max_length / s_.mtu + 1);
      case 2:
        return std::min(s_.max_length, s_.mtu + below(2));
      default:
        return below(s_.max_length + 1);
    }
  }

  /// Cuts `length` bytes into pieces that are not empty.
  std::vector<std::uint32_t> cut(std::uint32_t length) {
    std::vector<std::uint32_t> cuts;
    for (std::uint32_t i = 1 + below(s_.pieces); i > 1 && length > 1; --i) {
      const std::uint32_t piece = 1 + below(length - 1);
      cuts.push_back(piece);
      length -= piece;
    }
    if (length != 0) cuts.push_back(length);
    return cuts;
  }

  /// The next operation of an end, carried out by the reference model.
  Operation& make(End& end) {
    Operation& op = end.operations.emplace_back();
    op.kind = random_kind();
    op.signaled = s_.plain || chance(3) || end.unsignaled + 1 >= s_.depth / 8 ||
                  end.operations.size() == s_.operations;
    end.unsignaled = op.signaled ? 0 : end.unsignaled + 1;
    op.fence = !s_.plain && chance(20);
    op.immediate = static_cast<std::uint32_t>(end.operations.size() - 1);
    op.length = is_atomic(op.kind) ? 8 : random_length();
    if (s_.transport == Transport::kUd) op.length = std::min(op.length, s_.mtu);
    if (is_atomic(op.kind))
      make_atomic(end, op);
    else if (op.kind == kRead)
      make_read(end, op);
    else
      make_transfer(end, op);
    if (s_.wrong_keys && op.length != 0 && chance(200)) {
      op.wrong_lkey = !op.inlined && (is_send(op.kind) || chance(2));
      op.wrong_rkey = !op.wrong_lkey && !is_send(op.kind);
    }
    if (op.fence) end.unfenced_reads.clear();
    if (op.kind == kRead) end.unfenced_reads.push_back({op.remote, op.length});
    return op;
  }

  void make_transfer(End& end, Operation& op) {
    op.inlined = !s_.plain && op.length != 0 && op.length <= 220 && chance(2);
    for (const std::uint32_t bytes : cut(op.length)) {
      const std::uint32_t offset = kSource + below(kSourceBytes - bytes + 1);
      op.pieces.push_back({offset, bytes});
      const Data part = end.side->load(at(end.region, offset), bytes);
      op.data.insert(op.data.end(), part.begin(), part.end());
    }
    if (takes_receive(op.kind))
      end.taking.push_back(static_cast<std::uint32_t>(end.operations.size() - 1));
    if (!is_write(op.kind)) return;
    op.remote = below(kWindow - op.length + 1);
    // What an earlier READ reads must not change before it has been answered.
    for (const Piece& read : end.unfenced_reads)
      if (read.offset < op.remote + op.length && op.remote < read.offset + read.length)
        op.fence = true;
    std::copy(op.data.begin(), op.data.end(), end.reference.begin() + op.remote);
  }

  void take_target(End& end, Operation& op) {
    std::uint32_t offset = kTargets + end.answered++ % kTargetSlots * kMaxLength;
    std::vector<std::uint32_t> cuts = is_atomic(op.kind) ? std::vector{op.length} : cut(op.length);
    for (const std::uint32_t bytes : cuts) {
      op.pieces.push_back({offset, bytes});
      offset += bytes;
    }
    // Their order in memory is not that of the message.
    if (chance(2)) std::reverse(op.pieces.begin(), op.pieces.end());
  }

  void make_read(End& end, Operation& op) {
    op.remote = below(kWindow - op.length + 1);
    take_target(end, op);
    op.data.assign(end.reference.begin() + op.remote,
                   end.reference.begin() + op.remote + op.length);
  }

  void make_atomic(End& end, Operation& op) {
    take_target(end, op);
    op.shared = op.kind == kFetchAdd && chance(3);
    if (op.shared) {
      op.remote = kShared;
      op.swap_or_add = 1;
      ++end.peer->side->shared_adds;
      return;
    }
    op.remote = kCounters + 8 * below(kCounterCount);
    std::uint8_t* counter = end.reference.data() + op.remote;
    const std::uint64_t original = load_le64(counter);
    op.data.assign(counter, counter + 8);
    op.swap_or_add = random_.next();
    op.compare = chance(2) ? original : random_.next();
    if (op.kind == kFetchAdd)
      store_le64(counter, original + op.swap_or_add);
    else if (op.compare == original)
      store_le64(counter, op.swap_or_add);
  }

  /// Bytes that the peer's memory may hold although not all operations were carried out.
  void note_allowed(End& end) {
    for (std::uint32_t i = 0; i < kReferenced; ++i) end.allowed[i].set(end.reference[i]);
  }

  // -- the programs ---------------------------------------------------------------------------

  void work(CpuTask& task, Side& side) {
    std::uint64_t seen = 0;
    Time progress = task.now();
    while (failure_.empty() && !all_done()) {
      post_some(task, side);
      receive_some(task, side);
      poll_some(task, side);
      if (s_.may_fail) fail_some(task, side);
      if (side.completions != seen) {
        seen = side.completions;
        progress = task.now();
      } else if (task.now() - progress > Time::ms(60)) {
        mismatch("nothing has completed for long at ", side.server.name, ": ", describe(a_), " | ",
                 describe(b_));
      }
      task.sleep_until(task.now() + Time::ns(100 + static_cast<std::int64_t>(random_.below(3000))));
    }
  }

  std::string describe(const Side& side) {
    std::ostringstream text;
    for (const End& end : side.ends)
      text << "qp " << end.qp->qpn().value() << " posted " << end.posted << " retired "
           << end.retired << (end.failed ? " failed" : "") << (end.in_error ? " in error" : "")
           << " received " << end.peer->received << "/" << end.taking.size() << ", receives posted "
           << end.receives->posted << "; ";
    return text.str();
  }

  void post_some(CpuTask& task, Side& side) {
    End& end = side.ends[random_.below(side.ends.size())];
    const bool over = end.failed || end.in_error || end.peer->failed || end.peer->in_error;
    if (over && (!s_.may_fail || !chance(20) || end.late++ > 2)) return;
    std::uint32_t count = 1 + below(5);
    count = std::min({count, s_.operations - std::min(s_.operations, end.posted),
                      s_.depth - (end.posted - end.retired)});
    if (count == 0) return;
    while (end.operations.size() < end.posted + count) {
      make(end);
      if (s_.may_fail || s_.transport != Transport::kRc) note_allowed(end);
    }
    post(task, end, count);
  }

  void post(CpuTask& task, End& end, std::uint32_t count) {
    std::vector<SendRequest> requests;
    std::deque<std::vector<ScatterGather>> lists;
    for (std::uint32_t i = end.posted; i < end.posted + count; ++i) {
      const Operation& op = end.operations[i];
      std::vector<ScatterGather>& list = lists.emplace_back();
      for (const Piece& piece : op.pieces)
        list.push_back(
            {at(end.region, piece.offset), piece.length,
             op.wrong_lkey && &piece == &op.pieces.back() ? kWrongKey : end.region.lkey});
      SendRequest request;
      request.id = i;
      request.opcode = kOpcodes[op.kind];
      request.list = list.data();
      request.list_length = static_cast<std::uint32_t>(list.size());
      request.signaled = op.signaled;
      request.fence = op.fence;
      request.inline_data = op.inlined;
      request.immediate = op.immediate;
      const End& target = op.shared ? end.peer->side->ends[0] : *end.peer;
      request.remote_address = at(target.region, op.remote);
      request.rkey = op.wrong_rkey ? kWrongKey : target.region.rkey;
      request.compare_add = op.kind == kFetchAdd ? op.swap_or_add : op.compare;
      request.swap = op.swap_or_add;
      request.to.ip = end.peer->side->server.ports[0].ip;
      request.to.mac = end.peer->side->server.ports[0].mac;
      request.remote_qpn = end.peer->qp->qpn();
      request.remote_qkey = 0x1234;
      requests.push_back(request);
    }
    const Verbs::PostResult result =
        end.side->process.verbs.post_send(task, end.qp, requests.data(), count);
    end.posted += result.posted;
    if (result.error != Errno::kOk && result.error != Errno::kNoMemory)
      mismatch("post_send refused: ", static_cast<int>(result.error));
  }

  void receive_some(CpuTask& task, Side& side) {
    Receives& queue = side.queues[random_.below(side.queues.size())];
    if (queue.free.empty() || (s_.late_receives && !chance(10))) return;
    if (queue.qp != nullptr) {
      const End& end = end_of(side, queue.qp->qpn());
      if ((end.failed || end.in_error) && queue.late++ > 2) return;
    }
    const std::uint32_t count = 1 + below(queue.free.size());
    std::vector<ReceiveRequest> requests;
    std::deque<std::vector<ScatterGather>> lists;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t slot = queue.free[i];
      side.store(at(queue.region, std::uint64_t{slot} * kReceiveSlot),
                 Data(kReceiveSlot, kUntouched));
      std::vector<ScatterGather>& list = lists.emplace_back();
      std::uint32_t from = 0;
      for (std::uint32_t piece = 1; piece <= queue.pieces; ++piece) {
        const std::uint32_t to = piece == queue.pieces
                                     ? kReceiveSlot
                                     : std::min(kReceiveSlot - 1, from + 1 + below(2 * s_.mtu));
        if (to == from) continue;
        list.push_back({at(queue.region, std::uint64_t{slot} * kReceiveSlot + from), to - from,
                        queue.region.lkey});
        from = to;
      }
      requests.push_back({kReceiveId | slot, list.data(), static_cast<std::uint32_t>(list.size())});
    }
    Verbs& verbs = side.process.verbs;
    const Verbs::PostResult result =
        queue.srq != nullptr ? verbs.post_srq_recv(task, queue.srq, requests.data(), count)
                             : verbs.post_recv(task, queue.qp, requests.data(), count);
    if (result.error != Errno::kOk && result.error != Errno::kNoMemory)
      mismatch("post_recv refused: ", static_cast<int>(result.error));
    queue.free.erase(queue.free.begin(), queue.free.begin() + result.posted);
    queue.posted += result.posted;
  }

  void poll_some(CpuTask& task, Side& side) {
    for (CompletionQueue* cq : side.cqs) {
      WorkCompletion done[16];
      const std::uint32_t count =
          side.process.verbs.poll_cq(task, cq, done, 1 + below(std::size(done)));
      for (std::uint32_t i = 0; i < count; ++i) {
        ++side.completions;
        End& end = end_of(side, done[i].qpn);
        const bool receive = (done[i].id & kReceiveId) != 0;
        if ((receive ? end.receive_cq : end.send_cq) != cq) mismatch("completion in a wrong queue");
        if (is_receive(done[i].opcode) != receive) mismatch("completion of the other kind");
        if (receive)
          take_receive(end, done[i]);
        else
          take_send(end, done[i]);
      }
    }
  }

  static End& end_of(Side& side, Qpn qpn) {
    for (End& end : side.ends)
      if (end.qp->qpn() == qpn) return end;
    mismatch("completion of queue pair ", qpn.value());
  }

  template <class... Parts>
  [[noreturn]] void wrong(const End& end, const Parts&... parts) const {
    mismatch(end.side->server.name, " qp ", end.index, " (number ", end.qp->qpn().value(),
             "): ", parts...);
  }

  void take_send(End& end, const WorkCompletion& done) {
    if (done.id >= end.posted || done.id < end.retired)
      wrong(end, "completion of request ", done.id, ", posted ", end.posted, ", complete ",
            end.retired);
    const bool success = done.status == CompletionStatus::kSuccess;
    const Operation& op = end.operations[done.id];
    if (success && (op.wrong_lkey || op.wrong_rkey))
      wrong(end, "request ", done.id, " succeeded with a wrong key");
    if (!success && !s_.may_fail) wrong(end, "request ", done.id, ": ", text_of(done.status));
    if (end.failed) {
      if (done.status != CompletionStatus::kFlushed || done.id != end.retired)
        wrong(end, "request ", done.id, " ", text_of(done.status), " behind a failure, expected ",
              end.retired, " to be flushed");
      ++end.retired;
      return;
    }
    if (success &&
        (!op.signaled || done.opcode != kCompletedAs[op.kind] || (done.bytes != op.length)))
      wrong(end, "completion of request ", done.id, " says opcode ", static_cast<int>(done.opcode),
            ", ", done.bytes, " bytes, not ", op.length);
    while (end.retired < done.id) {
      if (end.operations[end.retired].signaled)
        wrong(end, "no completion of request ", end.retired, " before that of ", done.id);
      retire(end);
    }
    if (success) {
      retire(end);
      return;
    }
    end.failed = true;
    end.succeeded = end.retired++;
  }

  /// The oldest request has succeeded: it must have brought what it should.
  void retire(End& end) {
    const Operation& op = end.operations[end.retired];
    if (op.wrong_lkey || op.wrong_rkey)
      wrong(end, "request ", end.retired, " passed with a wrong key");
    if (op.kind == kRead || is_atomic(op.kind)) {
      Data brought;
      for (const Piece& piece : op.pieces) {
        const Data part = end.side->load(at(end.region, piece.offset), piece.length);
        brought.insert(brought.end(), part.begin(), part.end());
      }
      if (op.shared)
        end.peer->side->shared_originals.push_back(load_le64(brought.data()));
      else
        compare(end, brought, op.data, "request", end.retired);
    }
    ++end.retired;
  }

  void compare(const End& end, const Data& found, const Data& expected, const char* what,
               std::uint64_t number) const {
    if (found == expected) return;
    std::size_t i = 0;
    while (i < expected.size() && found[i] == expected[i]) ++i;
    std::size_t wrong_bytes = 0;
    for (std::size_t j = 0; j < expected.size(); ++j) wrong_bytes += found[j] != expected[j];
    wrong(end, what, " ", number, ": ", wrong_bytes, " of ", expected.size(),
          " bytes are wrong, the first at ", i, ": ", int{found[i]}, ", not ", int{expected[i]});
  }

  void take_receive(End& end, const WorkCompletion& done) {
    Receives& queue = *end.receives;
    const auto slot = static_cast<std::uint32_t>(done.id & ~kReceiveId);
    if (std::count(queue.free.begin(), queue.free.end(), slot) != 0)
      wrong(end, "a receive completed that was not posted");
    queue.free.push_back(slot);
    --queue.posted;
    End& from = *end.peer;
    if (done.status != CompletionStatus::kSuccess) {
      if (!s_.may_fail) wrong(end, "a receive failed: ", text_of(done.status));
      const bool refused = done.status == CompletionStatus::kLocalProtectionError ||
                           done.status == CompletionStatus::kLocalAccessError;
      if (end.receive_failed || !(s_.wrong_keys && refused)) {
        if (done.status != CompletionStatus::kFlushed)
          wrong(end, "a receive ended with ", text_of(done.status));
      }
      end.receive_failed = true;
      return;
    }
    if (end.receive_failed) wrong(end, "a receive succeeded behind one that was flushed");
    if (s_.transport != Transport::kRc)
      while (from.received < from.taking.size() && from.taking[from.received] != done.immediate)
        ++from.received;
    if (from.received == from.taking.size()) wrong(end, "a message came that was not sent");
    const std::uint32_t number = from.taking[from.received++];
    judge_receive(end, from.operations[number], number, slot, done);
  }

  void judge_receive(End& end, const Operation& op, std::uint32_t number, std::uint32_t slot,
                     const WorkCompletion& done) {
    const std::uint32_t prefix = s_.transport == Transport::kUd ? kGrh : 0;
    const bool immediate = (done.flags & WorkCompletion::kWithImmediate) != 0;
    const WcOpcode opcode =
        op.kind == kWriteImm ? WcOpcode::kReceiveRdmaWithImmediate : WcOpcode::kReceive;
    if (done.opcode != opcode || immediate != with_immediate(op.kind) ||
        (immediate && done.immediate != op.immediate) || done.bytes != op.length + prefix)
      wrong(end, "receive of request ", number, " of kind ", op.kind, " says opcode ",
            static_cast<int>(done.opcode), ", ", done.bytes, " bytes, not ", op.length + prefix,
            ", immediate ", done.immediate);
    Data expected(kReceiveSlot, kUntouched);
    Data found =
        end.side->load(at(end.receives->region, std::uint64_t{slot} * kReceiveSlot), kReceiveSlot);
    std::fill_n(found.begin(), prefix, kUntouched);
    if (is_send(op.kind)) std::copy(op.data.begin(), op.data.end(), expected.begin() + prefix);
    // Of a message that an unreliable connection lost in its middle some bytes may be there.
    if (s_.transport == Transport::kUc) {
      const std::uint32_t length = is_send(op.kind) ? op.length : 0;
      expected.resize(length);
      found.resize(length);
    }
    compare(end, found, expected, "receive of request", number);
  }

  /// Of a queue pair that failed at one end the program moves the other end to error as well.
  void fail_some(CpuTask& task, Side& side) {
    for (End& end : side.ends) {
      if (end.in_error || end.failed || !(end.peer->failed || end.receive_failed) || !chance(20))
        continue;
      QpAttributes attributes;
      attributes.state = QpState::kErr;
      good(side.process.verbs.modify_qp(task, end.qp, attributes), "ERR");
      end.in_error = true;
    }
  }

  bool all_done() {
    return std::all_of(a_.ends.begin(), a_.ends.end(), [this](End& end) { return done(end); });
  }
  bool done(const End& end) const {
    const End& peer = *end.peer;
    if (end.retired != end.posted || peer.retired != peer.posted) return false;
    if (end.failed || peer.failed || end.in_error || peer.in_error)
      return (end.failed || end.in_error) && (peer.failed || peer.in_error) && drained(end) &&
             drained(peer);
    if (end.posted != s_.operations || peer.posted != s_.operations) return false;
    return s_.transport != Transport::kRc ||
           (end.received == end.taking.size() && peer.received == peer.taking.size());
  }
  bool drained(const End& end) const { return s_.shared_receives || end.receives->posted == 0; }

  // -- the end --------------------------------------------------------------------------------

  void judge_memory() {
    for (Side* side : {&a_, &b_}) {
      for (End& end : side->ends) {
        judge_window(end);
        if (end.failed) judge_received(end);
      }
      judge_shared(*side);
    }
  }

  void judge_window(End& end) {
    const Data found = end.peer->side->load(end.peer->region.address, kReferenced);
    if (s_.transport == Transport::kRc && !end.failed && !end.in_error) {
      compare(end, found, end.reference, "window of end", end.index);
      return;
    }
    for (std::uint32_t i = 0; i < kReferenced; ++i)
      if (!end.allowed[i].test(found[i]))
        wrong(end, "byte ", i, " of the window is ", int{found[i]}, ", which nobody wrote");
  }

  /// What succeeded for its sender has reached its receiver.
  void judge_received(const End& end) const {
    const auto sent = std::lower_bound(end.taking.begin(), end.taking.end(), end.succeeded);
    if (end.received < static_cast<std::size_t>(sent - end.taking.begin()))
      wrong(end, sent - end.taking.begin(), " messages were sent with success, ", end.received,
            " received");
  }

  void judge_shared(Side& side) {
    const Data found = side.load(at(side.ends[0].region, kShared), 8);
    const std::uint64_t count = load_le64(found.data());
    std::sort(side.shared_originals.begin(), side.shared_originals.end());
    for (std::size_t i = 0; i + 1 < side.shared_originals.size(); ++i)
      if (side.shared_originals[i] == side.shared_originals[i + 1])
        mismatch("two fetch-and-adds found the same value ", side.shared_originals[i]);
    if (count > side.shared_adds || count < side.shared_originals.size() ||
        (!s_.may_fail && count != side.shared_adds))
      mismatch("the shared counter is ", count, " after ", side.shared_adds, " additions, ",
               side.shared_originals.size(), " of them known to be done");
  }

  Settings s_;
  Random random_;
  System system_;
  Side a_;
  Side b_;
  std::deque<std::unique_ptr<SoftwareThread>> threads_;
  std::string failure_;
};

// -- settings by seed ---------------------------------------------------------------------------

Scenario two_servers(std::uint64_t seed) {
  Scenario scenario;
  scenario.seed = seed;
  scenario.hosts.resize(2);
  scenario.hosts[0].name = "A";
  scenario.hosts[1].name = "B";
  return scenario;
}

std::uint32_t one_of(Random& random, std::initializer_list<std::uint32_t> values) {
  return values.begin()[random.below(values.size())];
}

void vary_nic(Random& random, NicConfig& nic) {
  if (random.below(2) == 0) return;
  nic.qp_context_cache.geometry = {one_of(random, {1, 2, 4}), 4, Replacement::kLru};
  nic.key_cache.geometry = {one_of(random, {4, 8, 16}), 16, Replacement::kLru};
  nic.translation_cache.geometry = {one_of(random, {32, 64}), 8, Replacement::kLru};
  nic.responder.window = one_of(random, {1, 4, 32});
  nic.completer.window = one_of(random, {1, 4, 32});
  nic.atomic_unit.outstanding = one_of(random, {1, 4, 32});
  nic.atomic_unit.slots = one_of(random, {1, 64, 4096});
  nic.requester.transmit_buffer = Bytes(one_of(random, {8192, 65536}));
  nic.read_responder.buffer = Bytes(one_of(random, {8192, 65536}));
  nic.wqe_fetch.blocks_per_fetch = one_of(random, {1, 4, 8});
}

void add_fault(Random& random, Scenario& scenario, FaultKind kind, double most) {
  FaultRule rule;
  rule.kind = kind;
  rule.probability = most * static_cast<double>(random.below(1000) + 1) / 1000.0;
  if (kind == FaultKind::kDelay)
    rule.delay = Time::ns(100 + static_cast<std::int64_t>(random.below(20000)));
  if (kind == FaultKind::kReorder) rule.behind = 1 + static_cast<std::uint32_t>(random.below(6));
  scenario.fabric.link.faults.push_back(rule);
}

void vary_faults(Random& random, Scenario& scenario, double most, bool repeats) {
  for (const FaultKind kind : {FaultKind::kDrop, FaultKind::kCorruptIcrc, FaultKind::kCorruptFcs,
                               FaultKind::kDuplicate, FaultKind::kReorder, FaultKind::kDelay}) {
    if (!repeats && (kind == FaultKind::kDuplicate || kind == FaultKind::kReorder)) continue;
    if (random.below(2) == 0) add_fault(random, scenario, kind, most);
  }
}

Settings mixed(std::uint64_t seed) {
  Random random(seed_for(seed, "settings"));
  Settings s;
  s.seed = seed;
  s.queue_pairs = 1 + static_cast<unsigned>(random.below(6));
  s.operations = 120 + static_cast<unsigned>(random.below(300));
  s.mtu = one_of(random, {256, 512, 1024, 2048, 4096});
  s.max_length = one_of(random, {600, 2000, kMaxLength});
  s.depth = one_of(random, {4, 16, 32});
  s.receives = one_of(random, {1, 4, 16, 32});
  s.pieces = one_of(random, {1, 2, 4});
  s.shared_receives = random.below(3) == 0;
  s.inline_receive = random.below(3) == 0;
  s.late_receives = random.below(2) == 0;
  s.max_reads = static_cast<std::uint8_t>(one_of(random, {1, 2, 16}));
  s.rnr_timer = static_cast<std::uint8_t>(one_of(random, {1, 2, 4}));
  s.scenario = two_servers(seed);
  for (HostSpec& host : s.scenario.hosts) {
    vary_nic(random, host.nics[0].config);
    host.config.verbs.blue_flame = random.below(2) == 0;
  }
  return s;
}

Settings without_faults(std::uint64_t seed) {
  Settings s = mixed(seed);
  s.kinds = 1U << (seed % kKinds);
  s.plain = seed < kKinds;
  return s;
}

Settings with_faults(std::uint64_t seed) {
  Settings s = mixed(seed);
  Random random(seed_for(seed, "faults"));
  vary_faults(random, s.scenario, 0.01, true);
  return s;
}

Settings failing(std::uint64_t seed) {
  Settings s = mixed(seed);
  Random random(seed_for(seed, "faults"));
  s.may_fail = true;
  s.ack_timeout = static_cast<std::uint8_t>(one_of(random, {1, 3, 5}));
  s.retry_count = static_cast<std::uint8_t>(random.below(2));
  s.rnr_retry = static_cast<std::uint8_t>(one_of(random, {0, 1, 7}));
  s.wrong_keys = random.below(2) == 0;
  if (s.wrong_keys) {
    s.retry_count = s.rnr_retry = 7;
    s.ack_timeout = 5;
  }
  vary_faults(random, s.scenario, 0.02, true);
  if (random.below(3) == 0) {
    FaultRule down;
    down.kind = FaultKind::kDown;
    down.from = Time::us(300 + static_cast<std::int64_t>(random.below(500)));
    down.until = *down.from + Time::us(static_cast<std::int64_t>(random.below(1000)) + 1);
    s.scenario.fabric.link.faults.push_back(down);
  }
  return s;
}

Settings unreliable(std::uint64_t seed) {
  Settings s = mixed(seed);
  Random random(seed_for(seed, "faults"));
  s.transport = seed % 2 == 0 ? Transport::kUc : Transport::kUd;
  s.kinds = s.transport == Transport::kUc ? 1U << kWrite | 1U << kWriteImm | 1U << kSendImm
                                          : 1U << kSendImm;
  s.depth = 32;
  // Nothing slows a datagram's sender down, and a NIC may be made slower than the link.
  for (HostSpec& host : s.scenario.hosts)
    host.nics[0].config.mac_rx.receive_buffer = Bytes(1 << 26);
  vary_faults(random, s.scenario, 0.05, false);
  return s;
}

// -- a process for each seed: SystemC starts once in a process ------------------------------------

std::string failure_of(const Settings& settings) {
  try {
    Stress(settings).run();
    return {};
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

std::string in_child(const Settings& settings) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child < 0) return "no child process";
  if (child == 0) {
    close(ends[0]);
    const std::string failure = failure_of(settings);
    const bool told =
        write(ends[1], failure.data(), failure.size()) == static_cast<ssize_t>(failure.size());
    _exit(failure.empty() && told ? 0 : 1);
  }
  close(ends[1]);
  std::string failure;
  char text[512];
  for (ssize_t bytes = 0; (bytes = read(ends[0], text, sizeof text)) > 0;)
    failure.append(text, static_cast<std::size_t>(bytes));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (failure.empty() && status != 0) return "died, status " + std::to_string(status);
  return failure;
}

void check_seeds(Settings (*settings)(std::uint64_t), std::uint64_t first, std::uint64_t last) {
  if (const char* seed = std::getenv("RNICSIM_STRESS_SEED")) {
    CHECK(failure_of(settings(std::strtoull(seed, nullptr, 10))) == "");
    return;
  }
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    INFO("seed " << seed);
    CHECK(in_child(settings(seed)) == "");
  }
}

}  // namespace

TEST_CASE("Without faults each kind of operation does what it should") {
  check_seeds(without_faults, 0, 20);
}

TEST_CASE("Mixed operations under mixed faults have the effect that verbs promise") {
  check_seeds(with_faults, 40, 60);
}

TEST_CASE("Mixed operations under mixed faults, many seeds", "[long]") {
  check_seeds(with_faults, 1000, 1400);
}

TEST_CASE("Of a queue pair that fails each request and receive completes once, in order") {
  check_seeds(failing, 40, 64);
}

TEST_CASE("Queue pairs that fail, many seeds", "[long]") { check_seeds(failing, 1000, 1400); }

TEST_CASE("Unreliable messages come whole, in order and at most once, or not at all") {
  check_seeds(unreliable, 1, 20);
}

TEST_CASE("Unreliable messages, many seeds", "[long]") { check_seeds(unreliable, 1000, 1200); }
