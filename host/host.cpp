// SPDX-License-Identifier: MIT
#include "host/host.h"

#include <algorithm>
#include <string>

#include "model/random.h"

namespace rnicsim {

Host::Host(const sc_core::sc_module_name& name, Scheduler& scheduler, const HostConfig& config,
           std::uint64_t seed, std::uint16_t first_nic, unsigned nics, bool exerciser)
    : sc_module(name),
      scheduler_(scheduler),
      config_(config),
      memory_(config.memory),
      frames_(config.memory.size, seed),
      interrupts_(scheduler, config.interrupt),
      root_complex_(config.root_complex) {
  if (config_.iommu.mode == IommuMode::kTranslate)
    iommu_ = std::make_unique<Iommu>(config_.iommu, seed_for(seed, "iommu"));
  if (config.pcie_switch) switch_.emplace(*config.pcie_switch, config.pcie.max_payload);
  for (std::size_t i = 0; i < config_.gpus.size(); ++i)
    gpus_.push_back(std::make_unique<Gpu>(config_.gpus[i], static_cast<unsigned>(i)));
  for (std::uint32_t i = 0; i < config_.cpu.cores; ++i)
    cores_.push_back(std::make_unique<CpuCore>(scheduler, config_.cpu, usage_,
                                               seed_for(seed, "core" + std::to_string(i))));
  for (unsigned i = 0; i < nics; ++i) {
    const std::string number = std::to_string(i);
    guards_.push_back(
        std::make_unique<DmaGuard>("host." + std::string(basename()) + ".nic" + number + ".pcie"));
    links_.push_back(std::make_unique<PcieLink>(("pcie" + number).c_str(), scheduler, config_.pcie,
                                                memory_, guards_.back().get(),
                                                seed_for(seed, "pcie" + number)));
    links_.back()->set_interrupts(&interrupts_);
    links_.back()->set_iommu(iommu_.get());
    if (switch_ || !gpus_.empty()) route(i);
    drivers_.push_back(
        std::make_unique<Driver>(config_.driver, static_cast<std::uint16_t>(first_nic + i), memory_,
                                 frames_, links_.back()->mmio(), *guards_.back(), interrupts_));
    add_network(i, seed_for(seed, "network" + number));
  }
  if (!exerciser) return;
  exerciser_link_ = std::make_unique<PcieLink>("pcie_exerciser", scheduler, config_.pcie, memory_,
                                               nullptr, seed_for(seed, "pcie_exerciser"));
  exerciser_link_->set_iommu(iommu_.get());
}

void Host::add_network(unsigned nic, std::uint64_t seed) {
  std::vector<CpuCore*> cores;
  for (const auto& core : cores_) cores.push_back(core.get());
  networks_.push_back(std::make_unique<NetworkStack>(
      config_.kernel, config_.tcp,
      NetworkStack::Parts{scheduler_, memory_, frames_, links_[nic]->mmio(), interrupts_,
                          *drivers_[nic], std::move(cores)},
      seed));
}

void Host::route(unsigned nic) {
  PcieSwitch* const all = switch_ ? &*switch_ : nullptr;
  const auto below = [&](const char* kind, std::size_t n) {
    return all != nullptr && all->config().has(kind + std::to_string(n));
  };
  std::vector<PcieRoute::Peer> peers;
  for (std::size_t g = 0; g < gpus_.size(); ++g) peers.push_back({gpus_[g].get(), below("gpu", g)});
  routes_.push_back(std::make_unique<PcieRoute>(below("nic", nic) ? all : nullptr, all,
                                                root_complex_, std::move(peers)));
  routes_.back()->set_iommu(iommu_.get());
  links_[nic]->set_route(routes_.back().get());
}

Bytes Host::written(DmaPurpose purpose) const {
  Bytes bytes = memory_.written(purpose);
  for (const auto& gpu : gpus_) bytes += gpu->written(purpose);
  return bytes;
}

bool Host::idle() const {
  if (exerciser_link_ != nullptr && !exerciser_link_->idle()) return false;
  return std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->idle(); });
}

void Host::attach(ProbeSink* sink, std::uint32_t first_nic) {
  interrupts_.probe().attach(sink, first_nic - 1);
  std::uint32_t component = first_nic;
  for (const auto& link : links_) link->probe().attach(sink, component++);
  component = first_nic;
  for (const auto& driver : drivers_) driver->probe().attach(sink, component++);
  component = first_nic;
  for (const auto& network : networks_) network->probe().attach(sink, component++);
}

void Host::signals(const SignalScope& scope) {
  for (std::size_t i = 0; i < cores_.size(); ++i)
    cores_[i]->signals(scope.child("cpu").child("core" + std::to_string(i)));
  memory_.bus().signals(scope.child("memory").child("bus"));
  if (exerciser_link_ != nullptr) exerciser_link_->signals(scope.child("exerciser").child("pcie"));
  for (std::size_t i = 0; i < links_.size(); ++i)
    links_[i]->signals(scope.child("nic" + std::to_string(i)).child("pcie"));
}

void Host::report(const MetricScope& scope) {
  const MetricScope cpu = scope.child("cpu");
  // Cores first: they bring polls that are still going on into the sums.
  for (std::size_t i = 0; i < cores_.size(); ++i)
    cores_[i]->report(cpu.child("core" + std::to_string(i)));
  usage_.report(cpu);
  interrupts_.report(scope.child("interrupts"));
  const MetricScope memory = scope.child("memory");
  memory_.report(memory);
  memory_.bus().report(memory.child("bus"));
  memory.bytes("kernel_in_use", frames_.kernel_in_use(),
               "contiguous kernel memory in use at the end");
  if (iommu_ != nullptr) iommu_->report(scope.child("iommu"));
  if (exerciser_link_ != nullptr) {
    const MetricScope link = scope.child("exerciser").child("pcie");
    exerciser_link_->report(link);
    exerciser_link_->report_link_layer(link);
  }
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    gpus_[i]->report(scope.child("gpu" + std::to_string(i)));
  if (switch_) switch_->report(scope.child("pcie_switch"));
  if (!gpus_.empty()) root_complex_.report(scope.child("root_complex"));
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const MetricScope nic = scope.child("nic" + std::to_string(i));
    drivers_[i]->report(nic.child("driver"));
    links_[i]->report(nic.child("pcie"));
    networks_[i]->report(nic.child("kernel"));
  }
}

}  // namespace rnicsim
