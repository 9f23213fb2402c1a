// SPDX-License-Identifier: MIT
#include "fabric/mac_table.h"

namespace rnicsim {

void MacTableConfig::describe(Fields& fields) {
  fields.field("ageing", ageing, range(Time::us(1), Time::s(1000000)),
               "an end point that has not been heard for so long is forgotten");
  fields.field("initially_known", initially_known,
               "every end point has been heard at time zero; else none has");
  fields.choice("unknown_unicast", unknown_unicast,
                {{"flood", UnknownUnicast::kFlood},
                 {"drop", UnknownUnicast::kDrop},
                 {"drop_lossless", UnknownUnicast::kDropLossless}},
                "where a frame goes whose end point is not in the table: to every other port, or "
                "nowhere, all or those of lossless priorities");
}

MacTable::MacTable(const MacTableConfig& config, std::uint32_t end_points)
    : ageing_(config.ageing), entries_(end_points) {}

}  // namespace rnicsim
