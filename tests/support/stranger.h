// SPDX-License-Identifier: MIT
// A memory and a processor as somebody writes them who knows TLM-2.0 and nothing of this project:
// tlm_utils sockets, SC_THREADs, wait(). What a NIC must work with that is used elsewhere.
#pragma once

#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstring>
#include <functional>
#include <systemc>
#include <tlm>
#include <vector>

namespace stranger {

/// How the memory answers a request.
enum class Answer {
  kBlockingOnly,          ///< has b_transport; the socket's adapter does the rest
  kAcceptedThenPhases,    ///< TLM_ACCEPTED, then END_REQ, then BEGIN_RESP
  kAcceptedThenResponse,  ///< TLM_ACCEPTED, then a bare BEGIN_RESP
  kUpdatedEndRequest,     ///< TLM_UPDATED with END_REQ, then BEGIN_RESP
  kUpdatedResponse,       ///< TLM_UPDATED with BEGIN_RESP, which awaits END_RESP
  kCompleted,             ///< TLM_COMPLETED
};

SC_MODULE(Memory) {
 public:
  struct Write {
    sc_core::sc_time time;
    sc_dt::uint64 address;
    unsigned length;
  };

  tlm_utils::simple_target_socket<Memory, 64> socket{"socket"};
  std::vector<unsigned char> bytes;
  std::vector<Write> writes;

  SC_HAS_PROCESS(Memory);
  Memory(sc_core::sc_module_name name, Answer answer, sc_core::sc_time read_latency,
         sc_core::sc_time write_latency)
      : sc_module(name),
        bytes(8 << 20),
        answer_(answer),
        read_latency_(read_latency),
        write_latency_(write_latency) {
    if (answer == Answer::kBlockingOnly)
      socket.register_b_transport(this, &Memory::b_transport);
    else
      socket.register_nb_transport_fw(this, &Memory::nb_transport_fw);
    SC_THREAD(end_requests);
    SC_THREAD(respond);
  }

 private:
  sc_core::sc_time latency(const tlm::tlm_generic_payload& payload) const {
    return payload.is_write() ? write_latency_ : read_latency_;
  }
  void access(tlm::tlm_generic_payload & payload, sc_core::sc_time when) {
    const sc_dt::uint64 address = payload.get_address();
    const unsigned length = payload.get_data_length();
    if (address + length > bytes.size()) {
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    if (payload.is_write()) {
      std::memcpy(&bytes[address], payload.get_data_ptr(), length);
      writes.push_back({when, address, length});
    } else {
      std::memcpy(payload.get_data_ptr(), &bytes[address], length);
    }
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  void b_transport(tlm::tlm_generic_payload & payload, sc_core::sc_time & delay) {
    wait(delay + latency(payload));
    delay = sc_core::SC_ZERO_TIME;
    access(payload, sc_core::sc_time_stamp());
  }
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload & payload, tlm::tlm_phase & phase,
                                     sc_core::sc_time & delay) {
    if (phase == tlm::END_RESP) return tlm::TLM_COMPLETED;
    const sc_core::sc_time response = delay + latency(payload);
    switch (answer_) {
      case Answer::kUpdatedResponse:
      case Answer::kCompleted:
        access(payload, sc_core::sc_time_stamp() + response);
        delay = response;
        phase = tlm::BEGIN_RESP;
        return answer_ == Answer::kCompleted ? tlm::TLM_COMPLETED : tlm::TLM_UPDATED;
      case Answer::kAcceptedThenPhases:
        requests_.notify(payload, delay);
        break;
      default:
        break;
    }
    payload.acquire();
    responses_.notify(payload, response);
    if (answer_ != Answer::kUpdatedEndRequest) return tlm::TLM_ACCEPTED;
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  void end_requests() {
    for (;;) {
      wait(requests_.get_event());
      while (tlm::tlm_generic_payload* payload = requests_.get_next_transaction())
        back(*payload, tlm::END_REQ);
    }
  }
  void respond() {
    for (;;) {
      wait(responses_.get_event());
      while (tlm::tlm_generic_payload* payload = responses_.get_next_transaction()) {
        access(*payload, sc_core::sc_time_stamp());
        back(*payload, tlm::BEGIN_RESP);
        payload->release();
      }
    }
  }
  void back(tlm::tlm_generic_payload & payload, tlm::tlm_phase phase) {
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->nb_transport_bw(payload, phase, delay);
  }

  Answer answer_;
  sc_core::sc_time read_latency_;
  sc_core::sc_time write_latency_;
  tlm_utils::peq_with_get<tlm::tlm_generic_payload> requests_{"requests"};
  tlm_utils::peq_with_get<tlm::tlm_generic_payload> responses_{"responses"};
};

/// Runs one program.
SC_MODULE(Processor) {
 public:
  tlm_utils::simple_initiator_socket<Processor, 64> socket{"socket"};
  std::function<void()> program;

  SC_HAS_PROCESS(Processor);
  explicit Processor(sc_core::sc_module_name name) : sc_module(name) { SC_THREAD(run); }

  /// A store to a device's register.
  void store(sc_dt::uint64 address, const unsigned char* data, unsigned length) {
    unsigned char copy[8] = {};
    std::memcpy(copy, data, length);
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_address(address);
    payload.set_data_ptr(copy);
    payload.set_data_length(length);
    payload.set_streaming_width(length);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket->b_transport(payload, delay);
    wait(delay);
    if (payload.is_response_error()) SC_REPORT_ERROR("processor", "a store failed");
  }

 private:
  void run() {
    if (program) program();
  }
};

}  // namespace stranger
