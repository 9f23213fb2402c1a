// SPDX-License-Identifier: MIT
// Which of several processes this is, as mpirun and srun tell each that they start: from the
// environment, so that no MPI library is needed.
#pragma once

#include <cstddef>
#include <string>

namespace rnicsim {

struct Ranks {
  std::size_t own = 0;
  std::size_t count = 1;
  std::string job = {};  ///< what the launcher calls them together; it may call others so later
};

/// One alone where there is no launcher; nor does a batch job count as one, whose script Slurm
/// starts once. Throws ConfigError for an environment that makes no sense.
Ranks ranks_of_launcher();

}  // namespace rnicsim
