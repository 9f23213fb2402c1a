// SPDX-License-Identifier: MIT
#include "tools/import/listing.h"

#include "tools/import/ibv_devinfo.h"
#include "tools/import/lspci.h"
#include "tools/import/nccl_topology.h"
#include "tools/import/nvidia_topo.h"

namespace rnicsim {

bool is_lspci(std::string_view text) {
  // " controller [0200]: " with -nn.
  const auto has_title = [&](std::string_view what) {
    return text.find(std::string(what) + ": ") != std::string_view::npos ||
           text.find(std::string(what) + " [") != std::string_view::npos;
  };
  const bool other = text.find("hca_id:") != std::string_view::npos ||
                     text.find_first_not_of(" \t\r\n") == text.find('<');
  return !other && (has_title(" controller") || has_title(" bridge"));
}

void read_listing(std::string_view text, const std::string& file, const ListingChoice& choice,
                  Machine& machine) {
  const auto has = [&](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  };
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '<')
    read_nccl_topology(text, file, choice.hca, machine);
  else if (has("hca_id:"))
    read_ibv_devinfo(text, file, choice.hca, machine);
  else if (is_lspci(text))
    read_lspci(text, file, choice.device, machine);
  else if (has("GPU0"))
    read_nvidia_topo(text, file, choice.hca, machine);
  else
    ListingLines(text, file)
        .fail(0, "what lspci -vv, ibv_devinfo -v, nvidia-smi topo -m or NCCL's topology dump print",
              "something else");
}

}  // namespace rnicsim
