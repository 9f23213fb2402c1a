// SPDX-License-Identifier: MIT
// The NIC's PCIe function as bus master: every DMA of every engine goes through here.
//
// Owns: tags (one per MRd TLP: a read is cut by max_read_request and at 4 KiB), the read buffer
// that completions land in (reserved before a read is asked for, since completion credits are
// infinite), ordering attributes (of payload writes alone: queue entries never carry them), one
// FIFO per engine with turns among them, pooled payloads. Each FIFO is bounded by what feeds it:
// payload reads by the transmit buffers, table and queue reads by miss registers and outstanding
// fetches, writes by the windows of responder and completer, the queues of CQE writer and event
// queue, one write-back a miss, and for plain frames by the port's receive buffer. Connects to: a
// TLM-2.0 initiator socket. Accepts every answer of the base protocol (ACCEPTED, UPDATED with
// END_REQ or BEGIN_RESP, COMPLETED; END_REQ and bare BEGIN_RESP on the backward path), obeys
// request exclusion, answers BEGIN_RESP with COMPLETED, never calls b_transport. Approximates: a
// read waits until all its tags and all its buffer are free; real endpoints issue its TLPs one by
// one (when tags limit, up to one request less is in flight, 4 KiB of tags x max_read_request). A
// tag is held until the request's last completion.
#pragma once

#include <array>
#include <memory>
#include <tlm>
#include <vector>

#include "model/callback.h"
#include "model/config_reader.h"
#include "model/metrics.h"
#include "model/outage.h"
#include "model/packet.h"
#include "model/pcie_tlp.h"
#include "model/ring.h"
#include "model/scheduler.h"
#include "model/signal.h"

namespace rnicsim {

struct PcieEndpointConfig {
  std::uint32_t tags = 64;
  Bytes read_buffer{64 * 1024};
  bool relaxed_ordering = false;
  bool no_snoop = false;
  void describe(Fields& fields);
};

struct DmaRequest {
  bool write = false;
  DmaEngineId engine = DmaEngineId::kPosted;
  DmaPurpose purpose = DmaPurpose::kPayload;
  PhysicalAddress address;
  std::uint32_t bytes = 0;  ///< 1 to 4096
  std::uint8_t* data =
      nullptr;     ///< null: elided. A write of up to kInlineBytes is copied at once,
                   ///< a longer one must stay (see `keep`); a read fills it by `done`.
  PacketRef keep;  ///< held until the link is done with the data
  WorkRequestId work_request;
  Callback done;  ///< read: data are there; write: handed to PCIe in order (no completion exists).
                  ///< Never runs within submit().
};

class PcieEndpoint : public tlm::tlm_bw_transport_if<>, public tlm::tlm_mm_interface {
 public:
  static constexpr std::uint32_t kInlineBytes = 256;
  /// Of one request: 4 KiB in pieces of 128 B that begin in the middle of one.
  static constexpr std::uint32_t kMaxTags = 33;

  /// max_read_request: what one MRd TLP, and so one tag, may ask for. link: the rate to which it
  /// has been trained.
  PcieEndpoint(Scheduler& scheduler, const PcieEndpointConfig& config, Bytes max_read_request,
               std::string name, ByteTime link = {});
  ~PcieEndpoint() override;

  tlm::tlm_initiator_socket<64> socket;

  /// Queues a request behind the earlier ones of its engine.
  void submit(DmaRequest request);
  /// In less time the link does not carry so much; zero if its rate is not known.
  Time least_time(Bytes bytes) const { return link_.of(bytes); }
  /// No request is queued or outstanding.
  bool idle() const { return outstanding_ == 0; }
  /// A fault: issues nothing within [from, until).
  void block(Time from, Time until) { outages_.add(from, until); }
  void report(const MetricScope& scope) const;
  void signals(const SignalScope& scope);

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload* payload) override;

 private:
  struct Transaction : tlm::tlm_generic_payload {
    DmaExtension* extension = nullptr;  ///< owned by the payload
    std::uint32_t index = 0;            ///< in transactions_
    std::array<std::uint8_t, kInlineBytes> inline_data;
    PacketRef keep;
    Callback done;
    std::array<std::uint16_t, kMaxTags> tags;
    std::uint32_t tag_count = 0;
    std::uint32_t read_bytes = 0;
    bool needs_end_response = false;  ///< the target sent BEGIN_RESP on the forward path
  };
  struct Queued {
    DmaRequest request;
    std::uint32_t tags = 0;
    Transaction* prepared = nullptr;  ///< it holds the bytes of a short write
  };
  static bool is_copied(const DmaRequest& request) {
    return request.write && request.bytes <= kInlineBytes;
  }
  enum class Blocked : std::uint8_t { kNo, kTags, kReadBuffer, kFault };

  Transaction& fresh();
  Transaction& make(Queued queued);
  Blocked blocked(const Queued& queued) const;
  std::uint32_t tags_for(const DmaRequest& request) const;
  void pump();
  bool held_up();
  bool issue_next();
  void send(Transaction& transaction);
  void take_answer(Transaction& transaction, tlm::tlm_sync_enum answer, const tlm::tlm_phase& phase,
                   const sc_core::sc_time& delay);
  void request_ended(std::uint64_t index);
  void responded(std::uint64_t index);
  void when(Time time, Callback callback);
  void when_responded(Time time, std::uint32_t index);
  void note_stall(Blocked blocked);

  Scheduler& scheduler_;
  PcieEndpointConfig config_;
  Bytes max_read_request_;
  ByteTime link_;
  std::string name_;
  std::array<Ring<Queued>, kDmaEngines> queues_;
  std::uint64_t queued_ = 0;  ///< requests in them
  unsigned turn_ = 0;
  std::vector<std::unique_ptr<Transaction>> transactions_;
  std::vector<Transaction*> free_;
  Transaction* in_request_ = nullptr;  ///< waits for END_REQ (request exclusion)
  bool pumping_ = false;
  bool sending_ = false;  ///< within nb_transport_fw
  Ring<std::uint16_t> tags_free_;
  std::uint64_t buffer_free_;
  std::uint64_t outstanding_ = 0;
  std::uint8_t scratch_[4096] = {};  ///< what elided data point to: TLM forbids a null pointer

  Blocked stalled_by_ = Blocked::kNo;
  Time stalled_since_;
  std::array<Time, 4> stalled_{};
  Outages outages_;
  Time wake_at_;  ///< the end of an outage that an event stands for
  std::uint64_t most_outstanding_ = 0;
  Time busy_;
  Time busy_since_;
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::array<Bytes, kDmaPurposes> read_by_purpose_{};
  std::array<Bytes, kDmaPurposes> written_by_purpose_{};
  std::uint32_t most_tags_ = 0;
};

}  // namespace rnicsim
