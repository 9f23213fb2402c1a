// SPDX-License-Identifier: MIT
#include "nic/ethernet/ethernet_config.h"

namespace rnicsim {

// Timeout and limit of merging are the defaults of Linux's mlx5 driver (en.h: 32 us, 64 KiB). The
// pipelines are those of the requester and the responder, as nobody publishes any.
void EthernetConfig::describe(Fields& fields) {
  fields.field("queues", queues, range(1, 4096),
               "transmit and receive queues that the NIC can keep");
  fields.field("descriptors_per_fetch", descriptors_per_fetch, range(1, 64),
               "transmit descriptors, of 64 B, that one DMA read brings");
  fields.field("buffers_per_fetch", buffers_per_fetch, range(1, 64),
               "receive descriptors, of 16 B, that one DMA read brings");
  fields.field("transmit_buffer", transmit_buffer, range(Bytes(16 * 1024), Bytes(1 << 24)),
               "of each priority: IP packets between host memory and the wire");
  fields.object("transmit_pipeline", transmit_pipeline, "makes packets, cuts bursts of TCP");
  fields.object("header_pipeline", header_pipeline, "headers and checksums of what is sent");
  fields.object("receive_pipeline", receive_pipeline, "checks and steers what has come");
  fields.object("completion_pipeline", completion_pipeline, "writes completion entries");
  fields.field(
      "receive_checksum", receive_checksum,
      "tells software of each frame whether TCP's checksum is right; without it nothing is "
      "merged");
  fields.field("rss", rss,
               "spreads flows over the receive queues by a hash; else all go to the first");
  fields.field("flow_rules", flow_rules, range(0, 1 << 20),
               "flows that can be sent to a receive queue of software's choice; 0: none");
  fields.field("merge_timeout", merge_timeout, range(Time::ns(1), Time::ms(10)),
               "how long a queue that merges segments waits for more behind the first");
  fields.field("merge_limit", merge_limit, range(Bytes(1500), Bytes(65535)),
               "largest IP packet that merged segments become");
  fields.field("merge_flows", merge_flows, range(1, 4096), "flows whose segments wait for more");
  fields.field("merge_buffer", merge_buffer, range(Bytes(16 * 1024), Bytes(1 << 28)),
               "what such segments may take of the receive buffer; at most half of what lossy "
               "priorities may");
}

}  // namespace rnicsim
