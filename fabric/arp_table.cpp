// SPDX-License-Identifier: MIT
#include "fabric/arp_table.h"

namespace rnicsim {

void ArpTableConfig::describe(Fields& fields) {
  fields.field("ageing", ageing, range(Time::us(1), Time::s(1000000)),
               "an entry is valid for so long since the address was last asked for");
  fields.field("initially_complete", initially_complete,
               "every address has been asked for at time zero; else none has");
}

ArpTable::ArpTable(const ArpTableConfig& config, std::uint32_t end_points)
    : ageing_(config.ageing),
      valid_until_(end_points, config.initially_complete ? config.ageing : Time()) {}

bool ArpTable::resolve(std::uint32_t end_point, bool answers, Time now) {
  Time& until = valid_until_[end_point];
  if (now < until) return true;
  if (!answers) return false;
  until = now + ageing_;
  return true;
}

}  // namespace rnicsim
