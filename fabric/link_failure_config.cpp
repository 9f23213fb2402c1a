// SPDX-License-Identifier: MIT
#include "fabric/link_failure_config.h"

#include <fnmatch.h>

namespace rnicsim {

void LinkFailure::describe(Fields& f) {
  f.required().field("link", link,
                     "the links whose name matches this glob, after their two ends in either "
                     "order: \"leaf0-spine1\", \"A-*\"");
  f.required().field("at", at, "when it goes down: what is sent or under way then is lost");
  f.optional("until", until, "when it is up again; never if not given");
  f.field("detection", detection, range(Time(), Time::s(10)),
          "so much later the switches at its ends drop what waits for it and take their other "
          "ways (assumption: 10 us); after `until` so much later they use it again");
  f.field("convergence", convergence, range(Time(), Time::s(100)),
          "so much later all switches have new routes, each time (assumption: 1 ms)");
  f.check(!until || at < *until, "until", "must be later than \"at\"");
  f.check(detection <= convergence, "convergence", "must not be shorter than \"detection\"");
}

bool LinkFailure::acts_on(const Topology& topology, std::uint32_t link_number) const {
  const TopologyLink& ends = topology.links()[link_number];
  const std::string backwards =
      topology.node(ends.b.node).name + '-' + topology.node(ends.a.node).name;
  return fnmatch(link.c_str(), topology.link_name(link_number).c_str(), 0) == 0 ||
         fnmatch(link.c_str(), backwards.c_str(), 0) == 0;
}

}  // namespace rnicsim
