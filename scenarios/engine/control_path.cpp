// SPDX-License-Identifier: MIT
#include "scenarios/engine/control_path.h"

#include "scenarios/engine/tcp_control.h"

namespace rnicsim {

namespace {

class FixedControlPath final : public ControlPath {
 public:
  FixedControlPath(Scheduler& scheduler, Time latency)
      : forth_(scheduler, latency), back_(scheduler, latency) {}
  ControlChannel& forth() override { return forth_; }
  ControlChannel& back() override { return back_; }

 private:
  FixedControlChannel forth_;
  FixedControlChannel back_;
};

}  // namespace

std::unique_ptr<ControlPath> ControlPath::make(System& system, const WorkloadSpec& spec,
                                               const Setting& setting) {
  std::unique_ptr<ControlPath> path;
  if (spec.control == ControlKind::kTcp)
    path = std::make_unique<TcpControl>(system, spec, setting);
  else
    path = std::make_unique<FixedControlPath>(system.scheduler(), spec.control_latency);
  path->back().probe().attach(setting.observer, system.server(spec.to).component);
  return path;
}

}  // namespace rnicsim
