// SPDX-License-Identifier: MIT
#include "tests/scenarios/stress/random_program.h"

#include <algorithm>
#include <sstream>

#include "tests/scenarios/stress/mismatch.h"
#include "tests/support/metric_recorder.h"

namespace rnicsim::stress {

using namespace rnicsim::literals;

namespace {

constexpr std::uint64_t kReceiveId = 1ULL << 63;
constexpr MemoryKey kWrongKey{0x123456};
constexpr unsigned kLatePosts = 3;  ///< behind a failure, which flushes them

}  // namespace

void RandomProgram::run() {
  servers_.open();
  model_.begin(servers_);
  servers_.start(servers_.a, [this](CpuTask& task) { work(task, servers_.a); });
  servers_.start(servers_.b, [this](CpuTask& task) { work(task, servers_.b); });
  while (!servers_.finished() && servers_.failure().empty()) servers_.run_for(1_ms);
  if (!servers_.failure().empty()) throw Mismatch(servers_.failure());
  servers_.run_for(10_ms);
  model_.judge_memory(servers_);
  if (!servers_.system.idle()) mismatch("something is still under way");
  for (const std::string& fault : servers_.system.conservation_faults()) mismatch(fault);
  for (Side* side : {&servers_.a, &servers_.b})
    if (s_.on_demand && !s_.may_fail &&
        test::metrics_of(side->server.host->driver(0)).at("page_faults") == 0)
      mismatch("no page was absent at ", side->server.name);
}

void RandomProgram::work(CpuTask& task, Side& side) {
  std::uint64_t seen = 0;
  Time progress = task.now();
  while (servers_.failure().empty() && !all_done()) {
    post_some(task, side);
    receive_some(task, side);
    poll_some(task, side);
    if (s_.may_fail) fail_some(task, side);
    if (side.completions != seen) {
      seen = side.completions;
      progress = task.now();
    } else if (task.now() - progress > 60_ms) {
      mismatch("nothing has completed for long at ", side.server.name, ": ", describe(servers_.a),
               " | ", describe(servers_.b));
    }
    task.sleep_until(task.now() + Time::ns(100 + std::int64_t{draws_.below(3000)}));
  }
}

std::string RandomProgram::describe(const Side& side) {
  std::ostringstream text;
  for (const End& end : side.ends)
    text << "qp " << end.qp->qpn().value() << " posted " << end.posted << " retired " << end.retired
         << (end.failed ? " failed" : "") << (end.in_error ? " in error" : "") << " received "
         << end.peer->received << "/" << end.taking.size() << ", receives posted "
         << end.receives->posted << "; ";
  return text.str();
}

void RandomProgram::post_some(CpuTask& task, Side& side) {
  End& end = side.ends[draws_.below(side.ends.size())];
  const bool over = end.failed || end.in_error || end.peer->failed || end.peer->in_error;
  if (over && (!s_.may_fail || !draws_.chance(20) || end.late++ >= kLatePosts)) return;
  std::uint32_t count = 1 + draws_.below(5);
  count = std::min({count, s_.operations - std::min(s_.operations, end.posted),
                    s_.depth - (end.posted - end.retired)});
  if (count == 0) return;
  while (end.operations.size() < end.posted + count) model_.carry_out(end, requests_.make(end));
  post(task, end, count);
}

void RandomProgram::post(CpuTask& task, End& end, std::uint32_t count) {
  std::vector<SendRequest> requests;
  std::deque<std::vector<ScatterGather>> lists;
  for (std::uint32_t i = end.posted; i < end.posted + count; ++i) {
    const Operation& op = end.operations[i];
    std::vector<ScatterGather>& list = lists.emplace_back();
    for (const Piece& piece : op.pieces)
      list.push_back({at(end.region, piece.offset), piece.length,
                      op.wrong_lkey && &piece == &op.pieces.back() ? kWrongKey : end.region.lkey});
    SendRequest& request = requests.emplace_back(request_of(end, i));
    request.list = list.data();
    request.list_length = static_cast<std::uint32_t>(list.size());
  }
  const Verbs::PostResult result =
      end.side->process.verbs.post_send(task, end.qp, requests.data(), count);
  end.posted += result.posted;
  if (result.error != Errno::kOk && result.error != Errno::kNoMemory)
    mismatch("post_send refused: ", static_cast<int>(result.error));
}

SendRequest RandomProgram::request_of(const End& end, std::uint32_t number) const {
  const Operation& op = end.operations[number];
  const Side& peer = *end.peer->side;
  SendRequest request;
  request.id = number;
  request.opcode = kOpcodes[op.kind];
  request.signaled = op.signaled;
  request.fence = op.fence;
  request.inline_data = op.inlined;
  request.immediate = op.immediate;
  const End& target = op.shared ? peer.ends[0] : *end.peer;
  request.remote_address = at(target.region, op.remote);
  request.rkey = op.wrong_rkey ? kWrongKey : target.region.rkey;
  request.compare_add = op.kind == kFetchAdd ? op.swap_or_add : op.compare;
  request.swap = op.swap_or_add;
  request.to.ip = peer.server.ports[0].ip;
  request.to.mac = peer.server.ports[0].mac;
  request.to.lid = peer.server.ports[0].lid;
  request.remote_qpn = end.peer->qp->qpn();
  request.remote_qkey = kQkey;
  return request;
}

void RandomProgram::receive_some(CpuTask& task, Side& side) {
  Receives& queue = side.queues[draws_.below(side.queues.size())];
  if (queue.free.empty() || (s_.late_receives && !draws_.chance(10))) return;
  if (queue.qp != nullptr) {
    const End& end = side.end_of(queue.qp->qpn());
    if ((end.failed || end.in_error) && queue.late++ >= kLatePosts) return;
  }
  post_receives(task, queue, 1 + draws_.below(queue.free.size()));
}

void RandomProgram::post_receives(CpuTask& task, Receives& queue, std::uint32_t count) {
  std::vector<ReceiveRequest> requests;
  std::deque<std::vector<ScatterGather>> lists;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t slot = queue.free[i];
    const std::vector<ScatterGather>& list = lists.emplace_back(receive_list(queue, slot));
    requests.push_back({kReceiveId | slot, list.data(), static_cast<std::uint32_t>(list.size())});
  }
  Verbs& verbs = queue.side->process.verbs;
  const Verbs::PostResult result =
      queue.srq != nullptr ? verbs.post_srq_recv(task, queue.srq, requests.data(), count)
                           : verbs.post_recv(task, queue.qp, requests.data(), count);
  if (result.error != Errno::kOk && result.error != Errno::kNoMemory)
    mismatch("post_recv refused: ", static_cast<int>(result.error));
  queue.free.erase(queue.free.begin(), queue.free.begin() + result.posted);
  queue.posted += result.posted;
}

/// Cuts a slot into the segments of a receive, and clears it.
std::vector<ScatterGather> RandomProgram::receive_list(const Receives& queue, std::uint32_t slot) {
  const VirtualAddress start = at(queue.region, std::uint64_t{slot} * kReceiveSlot);
  queue.side->store(start, Data(kReceiveSlot, kUntouched));
  std::vector<ScatterGather> list;
  std::uint32_t from = 0;
  for (std::uint32_t piece = 1; piece <= queue.pieces; ++piece) {
    const std::uint32_t to = piece == queue.pieces
                                 ? kReceiveSlot
                                 : std::min(kReceiveSlot - 1, from + 1 + draws_.below(2 * s_.mtu));
    if (to == from) continue;
    list.push_back({VirtualAddress(start.value() + from), to - from, queue.region.lkey});
    from = to;
  }
  return list;
}

void RandomProgram::poll_some(CpuTask& task, Side& side) {
  for (CompletionQueue* cq : side.cqs) {
    WorkCompletion done[16];
    const std::uint32_t count =
        side.process.verbs.poll_cq(task, cq, done, 1 + draws_.below(std::size(done)));
    for (std::uint32_t i = 0; i < count; ++i) {
      ++side.completions;
      End& end = side.end_of(done[i].qpn);
      const bool receive = (done[i].id & kReceiveId) != 0;
      if ((receive ? end.receive_cq : end.send_cq) != cq) mismatch("completion in a wrong queue");
      if (is_receive(done[i].opcode) != receive) mismatch("completion of the other kind");
      if (receive)
        take_receive(end, done[i]);
      else
        model_.send_completed(end, done[i]);
    }
  }
}

void RandomProgram::take_receive(End& end, const WorkCompletion& done) {
  Receives& queue = *end.receives;
  const auto slot = static_cast<std::uint32_t>(done.id & ~kReceiveId);
  if (std::count(queue.free.begin(), queue.free.end(), slot) != 0)
    mismatch("a receive completed that was not posted");
  queue.free.push_back(slot);
  --queue.posted;
  model_.receive_completed(end, slot, done);
}

/// Of a queue pair that failed at one end the program moves the other end to error as well.
void RandomProgram::fail_some(CpuTask& task, Side& side) {
  for (End& end : side.ends) {
    if (end.in_error || end.failed || !(end.peer->failed || end.receive_failed) ||
        !draws_.chance(20))
      continue;
    QpAttributes attributes;
    attributes.state = QpState::kErr;
    if (side.process.verbs.modify_qp(task, end.qp, attributes) != Errno::kOk)
      mismatch("a queue pair does not go to ERR");
    end.in_error = true;
  }
}

bool RandomProgram::all_done() const {
  return std::all_of(servers_.a.ends.begin(), servers_.a.ends.end(),
                     [this](const End& end) { return done(end); });
}

bool RandomProgram::done(const End& end) const {
  const End& peer = *end.peer;
  if (end.retired != end.posted || peer.retired != peer.posted) return false;
  if (end.failed || peer.failed || end.in_error || peer.in_error)
    return (end.failed || end.in_error) && (peer.failed || peer.in_error) && drained(end) &&
           drained(peer);
  if (end.posted != s_.operations || peer.posted != s_.operations) return false;
  return model_.has_all_messages(end) && model_.has_all_messages(peer);
}

bool RandomProgram::drained(const End& end) const {
  return s_.shared_receives || end.receives->posted == 0;
}

}  // namespace rnicsim::stress
