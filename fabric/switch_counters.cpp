// SPDX-License-Identifier: MIT
#include "fabric/switch_counters.h"

namespace rnicsim {

void SwitchCounters::report(const MetricScope& scope, bool learns) const {
  scope.count("rx_packets", packets, "frames received");
  scope.bytes("rx_bytes", bytes, "bytes of frames received, with FCS");
  scope.count("rx_crc_errors", crc_errors, "frames dropped: wrong FCS");
  scope.count("rx_discards", no_room, "packets of lossy priorities dropped: no room");
  scope.count("rx_no_route", no_way, "packets dropped: nothing leads to their destination");
  scope.count("rx_not_routable", not_routable,
              "packets refused: RoCEv1 has no IP header that a router could forward by, and "
              "link-local addresses end at one");
  scope.count("rx_ttl_expired", expired, "packets dropped: their TTL has run out");
  if (learns) {
    scope.count("rx_flooded", flooded,
                "packets sent to all other ports: their destination is not in the MAC table");
    scope.count("rx_unknown_unicast", unknown,
                "packets dropped: their destination is not in the MAC table");
    scope.count("rx_unresolved", unresolved,
                "packets dropped: the ARP entry of their destination is incomplete");
  }
  if (not_ours != 0)
    scope.count("rx_not_addressed", not_ours,
                "flooded packets dropped: they are addressed to somebody else");
  if (stormed != 0)
    scope.count(
        "watchdog.dropped", stormed,
        "packets that came in here and were dropped because of a pause storm, here or where "
        "they were to go");
}

}  // namespace rnicsim
