// SPDX-License-Identifier: MIT
#include "nic/pause_storm.h"

namespace rnicsim {

void PauseStormConfig::describe(Fields& fields) {
  fields.field("priority", priority, range(0, kPriorities - 1), "which is paused");
  fields.required().field("from", from, "when it begins");
  fields.optional("until", until,
                  "when it ends; if not given, never, or by the NIC's own watchdog");
  fields.check(!until || *until > from, "until", "must be later than \"from\"");
}

PauseStorms::PauseStorms(Scheduler& scheduler, const std::vector<PauseStormConfig>& storms,
                         PauseRequester& requester)
    : requester_(requester) {
  for (const PauseStormConfig& storm : storms) {
    scheduler.at_daemon(storm.from, call<&PauseStorms::begin>(this, storm.priority));
    if (storm.until)
      scheduler.at_daemon(*storm.until, call<&PauseStorms::end>(this, storm.priority));
  }
}

}  // namespace rnicsim
