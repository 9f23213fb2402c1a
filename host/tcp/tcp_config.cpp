// SPDX-License-Identifier: MIT
#include "host/tcp/tcp_config.h"

namespace rnicsim {

void CubicConfig::describe(Fields& fields) {
  fields.field("c", c, range(0.001, 1000.), "how fast the window grows, in segments/s^3");
  fields.field("beta", beta, range(0.1, 0.99), "share of the window that a loss leaves");
  fields.field("fast_convergence", fast_convergence,
               "a flow whose windows shrink makes room for others");
  fields.field("reno_friendly", reno_friendly, "never slower than Reno would be");
  fields.field("hystart", hystart,
               "slow start ends when acknowledgements say that the path is full");
}

void DctcpConfig::describe(Fields& fields) {
  fields.field("gain", gain, range(0.001, 1.), "weight of the last window in the share of marks");
  fields.field("initial_alpha", initial_alpha, range(0., 1.), "share of marks to begin with");
}

void TcpConfig::describe(Fields& fields) {
  const auto buffers = range(Bytes(2048), Bytes(1ULL << 30));
  const auto timers = range(Time::us(1), Time::s(600));
  fields.field("send_buffer", send_buffer, buffers,
               "bytes that the application may be ahead of the acknowledgements");
  fields.field("receive_buffer", receive_buffer, buffers,
               "bytes that may arrive ahead of the application");
  fields.field("window_scaling", window_scaling, "offers windows above 64 KiB");
  fields.field("sack", sack, "offers selective acknowledgements");
  fields.field("timestamps", timestamps, "offers timestamps");
  fields.field("ecn", ecn, "offers explicit congestion notification; dctcp always does");
  fields.field("nagle", nagle, "one small segment in flight at a time");
  fields.field("slow_start_after_idle", slow_start_after_idle,
               "the window shrinks to the initial one while nothing is sent");
  fields.field("tail_loss_probe", tail_loss_probe,
               "with SACK, a probe after about two round trips of silence finds losses at the end");
  fields.field("delayed_ack", delayed_ack, range(Time(), Time::ms(500)),
               "longest that an acknowledgement waits; 0: it never does");
  fields.field("ack_every", ack_every, range(1, 1 << 10),
               "full segments after which it waits no longer");
  fields.field("initial_rto", initial_rto, timers, "retransmission timeout before any sample");
  fields.field("min_rto", min_rto, timers, "shortest retransmission timeout");
  fields.field("max_rto", max_rto, timers, "longest retransmission timeout, with its backoff");
  fields.field("retries", retries, range(1, 100), "timeouts in a row before a connection fails");
  fields.field("syn_retries", syn_retries, range(1, 100), "of the handshake");
  fields.field("time_wait", time_wait, range(Time(), Time::s(600)),
               "how long the side that closes first remembers the connection");
  fields.field("initial_window", initial_window, range(1, 1000), "segments to begin with");
  fields.field("duplicate_threshold", duplicate_threshold, range(1, 1000),
               "segments that may overtake another before it counts as lost");
  fields.choice("algorithm", algorithm,
                {{"reno", TcpAlgorithm::kReno},
                 {"cubic", TcpAlgorithm::kCubic},
                 {"dctcp", TcpAlgorithm::kDctcp}},
                "congestion control; its parameters stand under its name");
  fields.object("cubic", cubic, "a cubic of the time since the last loss");
  fields.object("dctcp", dctcp, "cuts by the share of packets that switches mark");
  fields.check(min_rto <= max_rto, "min_rto", "must not be above max_rto");
}

}  // namespace rnicsim
