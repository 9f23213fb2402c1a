// SPDX-License-Identifier: MIT
// Which of several processes this is, by the environment of those who start them.
#include "tools/rnicsim/launcher.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "model/config_error.h"

using namespace rnicsim;

namespace {

/// In an environment that says this and nothing else of launchers.
Ranks all_in(const std::map<std::string, std::string>& variables) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE",
                           "PMI_RANK", "PMI_SIZE", "PMI_JOBID", "SLURM_PROCID", "SLURM_NTASKS",
                           "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"})
    unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  return ranks_of_launcher();
}

/// Own number and count.
std::pair<std::size_t, std::size_t> ranks_in(const std::map<std::string, std::string>& variables) {
  const Ranks ranks = all_in(variables);
  return {ranks.own, ranks.count};
}

using Pair = std::pair<std::size_t, std::size_t>;

}  // namespace

TEST_CASE("A process that no launcher started is one alone") {
  CHECK(ranks_in({}) == Pair{0, 1});
  CHECK(ranks_in({{"OMPI_COMM_WORLD_RANK", "2"}}) == Pair{0, 1});
}

TEST_CASE("mpirun says which process of how many it is") {
  CHECK(ranks_in({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}) == Pair{2, 4});
  CHECK(ranks_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}) == Pair{1, 3});
}

TEST_CASE("srun says which process of how many it is") {
  CHECK(ranks_in({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_ID", "0"}}) ==
        Pair{3, 8});
}

TEST_CASE(
    "A script of sbatch and a shell of salloc are one process, however many tasks they have") {
  const std::map<std::string, std::string> job{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}};
  CHECK(ranks_in(job) == Pair{0, 1});
  for (const char* step : {"batch", "4294967291", "4294967290", "4294967294"}) {
    auto with_step = job;
    with_step["SLURM_STEP_ID"] = step;
    CHECK(ranks_in(with_step) == Pair{0, 1});
  }
  auto under_mpirun = job;
  under_mpirun["OMPI_COMM_WORLD_RANK"] = "2";
  under_mpirun["OMPI_COMM_WORLD_SIZE"] = "4";
  CHECK(ranks_in(under_mpirun) == Pair{2, 4});
}

TEST_CASE("Processes that were started together have the same name of their job") {
  const std::map<std::string, std::string> mpi{{"OMPI_COMM_WORLD_RANK", "2"},
                                               {"OMPI_COMM_WORLD_SIZE", "4"}};
  CHECK(all_in(mpi).job.empty());
  auto named = mpi;
  named["PMIX_NAMESPACE"] = "1845755905";
  CHECK(all_in(named).job == "1845755905");
  std::map<std::string, std::string> slurm{
      {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "71"}, {"SLURM_STEP_ID", "2"}};
  CHECK(all_in(slurm).job == "71.2");
  slurm["SLURM_RESTART_COUNT"] = "1";
  CHECK(all_in(slurm).job == "71.2.1");
}

TEST_CASE("An environment that makes no sense is refused") {
  CHECK_THROWS_WITH(ranks_in({{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
                    "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE of the environment: expected a "
                    "number and a larger one, found \"4\" and \"4\"");
  CHECK_THROWS_AS(ranks_in({{"PMI_RANK", "one"}, {"PMI_SIZE", "3"}}), ConfigError);
}
