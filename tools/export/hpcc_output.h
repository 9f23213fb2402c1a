// SPDX-License-Identifier: MIT
// Results as HPCC writes them, so that the scripts that plot its results work.
//
//   fct.txt   sip dip sport dport size start_ns fct_ns standalone_fct_ns: flows in the order in
//   which
//             they ended. Addresses are HPCC's own, 0b000001 + node x 256 in hexadecimal: scripts
//             take the node from them. Starts count from the begin of the run.
//   pfc.txt   time_ns node node_type ifindex type: type 1 a class is stopped, 0 it goes on, at the
//             port that has received the frame and when it takes effect; node_type 0 host, 1
//             switch; interfaces count from 1.
// Times are rounded down to nanoseconds.
#pragma once

#include <string>
#include <vector>

#include "scenarios/engine/run_result.h"

namespace rnicsim {

std::string fct_text(const std::vector<FlowRecord>& flows);
std::string pfc_text(const std::vector<PauseRecord>& pauses);

}  // namespace rnicsim
