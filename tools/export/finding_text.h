// SPDX-License-Identifier: MIT
// What notes and violated guarantees of a run say, in English or Japanese.
//
// The blocks that find them write English, each with names and numbers of its own, and may end a
// run with it (model/invariant). So the Japanese goes by the English sentence: one that fits a row
// of the table is said as the row has it, with the same names and numbers; their parts likewise.
// Ignores: faults of the simulator itself, refused DMA (dma_error, stray_write, stray_read), what a
// flow's queue pair is held up by, and failures of a perftest's program, which stay English.
#pragma once

#include <string>

#include "tools/export/language.h"

namespace rnicsim {

/// `english`: as the simulator wrote it, which is also what an unknown sentence stays.
std::string finding_text(const std::string& english, Language language);

}  // namespace rnicsim
