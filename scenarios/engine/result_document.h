// SPDX-License-Identifier: MIT
// The result document: what `rnicsim run --json` prints and result.json holds.
//
//   { "format": "rnicsim-result", "version": 1, "runs": [ RUN, ... ] }     always a list
//
// RUN: one per file and variant, in the order of the command line:
//   scenario       name of the file, without folder and ending
//   title          the scenario's
//   variant        its name; "" for the scenario itself
//   seed           of all random choices
//   configuration  every value in force, units included, without variants and expectations: as a
//                  file it is a scenario of its own that gives this run
//   packet_format  RoCEv2 over IPv4, RoCEv2 over IPv6, RoCEv1 or InfiniBand
//   routable       whether a router could forward such packets
//   notes          what to know of the network: places left empty, links that failed. Not there if
//                  there is nothing
//   end_ps         simulated time at which the run ended
//   timeline       list of { step, part, begin_ps, end_ps, count, first_end_ps, last_begin_ps,
//                  host, lane, block, plane, bytes,
//                  work_request, text }. step: 1 to 8 of a WRITE, 9 its completion, 0 a fault;
//                  lane: app, cpu, nic, wire; plane: control, data; work_request 0: none
//   metrics        path -> { value, unit }; unit: count, B, ps, cycles, b/s, 1/s, ratio; whole
//                  numbers are exact
//   bottlenecks    what limited each workload that came to its end: list of { workload, kind,
//                  resource, share, text } (scenarios/engine/run_result.h)
//   flows          of workloads that consist of flows, in their order: list of { workload, from,
//   to,
//                  bytes, start_ps, finish_ps, ideal_ps, slowdown }. start: due, or what it waited
//                  for had ended; finish: its sender polled the last completion; ideal: alone on
//                  its path (scenarios/engine/flows/flow_results.h). Times are null of what has not
//                  happened; slowdown is (finish - start) / ideal. Not there if there are no flows
//   expectations   list of { id, metric or violation, variant (of a violation), ratio_to, relation,
//                  expected, tolerance, measured, unit, passed, source }. relation: equals,
//                  at_least, at_most, between (expected is then a list of two); numbers are in
//                  `unit`; tolerance is the allowed deviation of equals; what the file does not
//                  give is not there
//   violations     list of { kind, where, when_ps, text, expected }
//   passed         all expectations met and no violation but expected ones
//
// Keys stand in this order and metrics are sorted; nothing depends on the wall clock: the same
// scenario and seed give the same bytes. `version` grows when a reader of the old one would fail.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scenarios/engine/expectations.h"

namespace rnicsim {

constexpr int kResultVersion = 1;

nlohmann::ordered_json result_document(const std::vector<JudgedRun>& runs);

/// For files: indented; a list or object of nothing but scalars stands on one line. Ends with a
/// line feed.
std::string to_lines(const nlohmann::ordered_json& json);

/// "equals", "at_least", ...
const char* name_of(ExpectationSpec::Relation relation);

}  // namespace rnicsim
