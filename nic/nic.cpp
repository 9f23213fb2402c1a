// SPDX-License-Identifier: MIT
#include "nic/nic.h"

#include "model/random.h"
#include "nic/ethernet/ethernet_unit.h"
#include "nic/pause_watchdog.h"
#include "nic/repeater.h"

namespace rnicsim {

struct Nic::Blocks {
  Blocks(const std::string& path, const NicWiring& wiring, const NicConfig& config);
  void stall(const NicStall& fault);
  void srq_limit(std::uint64_t srqn) {
    event_queue.async(abi::EventType::kSrqLimit, static_cast<std::uint32_t>(srqn));
  }
  void cqe_room() {
    completer.go_on();
    responder.go_on();
  }
  void response_started() {
    responder.response_started();
    read_responder.response_started();
  }

  Clock clock;
  PcieEndpoint pcie;
  QpContextCache contexts;
  CqContextCache cq_contexts;
  KeyCache keys;
  TranslationCache translations;
  SrqContextCache srqs;
  EventQueue event_queue;
  PageFaults page_faults;
  QueuePairTable qps;
  KeyChecker local_keys;
  KeyChecker remote_keys;
  KeyOperations key_operations;
  NicPort port;
  MacTx mac_tx;
  MacRx mac_rx;
  CongestionUnit congestion;
  PauseWatchdog pause_watchdog;
  PauseStorms pause_storms;
  ReorderBuffer reorder_buffer;
  CompletionEvents completion_events;
  CqeWriter cqe_writer;
  ReceiveQueues receives;
  AtomicUnit atomics;
  Retransmitter retransmitter;
  Repeater repeater;
  Completer completer;
  WqeFetch wqe_fetch;
  Requester requester;
  Responder responder;
  ReadResponder read_responder;
  EthernetUnit ethernet;
  CommandUnit command_unit;
  Doorbell doorbell;
};

Nic::Blocks::Blocks(const std::string& path, const NicWiring& w, const NicConfig& config)
    : clock(config.clock),
      pcie(w.scheduler, config.pcie, w.max_read_request, path + ".pcie",
           w.pcie_rate ? ByteTime(*w.pcie_rate) : ByteTime()),
      contexts(w.scheduler, pcie, config.qp_context_cache, DmaPurpose::kQpContext,
               path + ".qp_context_cache", seed_for(w.seed, path + ".qp_context_cache")),
      cq_contexts(w.scheduler, pcie, config.cq_context_cache, DmaPurpose::kCqContext,
                  path + ".cq_context_cache", seed_for(w.seed, path + ".cq_context_cache")),
      keys(w.scheduler, pcie, config.key_cache, DmaPurpose::kKeyTable, path + ".key_cache",
           seed_for(w.seed, path + ".key_cache")),
      translations(w.scheduler, pcie, config.translation_cache,
                   seed_for(w.seed, path + ".translation_cache")),
      srqs(w.scheduler, pcie, config.srq_context_cache, DmaPurpose::kSrqContext,
           path + ".srq_context_cache", seed_for(w.seed, path + ".srq_context_cache")),
      event_queue(w.scheduler, clock, pcie, config.event_queue),
      page_faults(w.scheduler, event_queue, config.page_faults),
      local_keys(clock, keys, translations, page_faults, config.key_checker),
      remote_keys(clock, keys, translations, page_faults, config.key_checker),
      key_operations(w.scheduler, clock, keys, translations, config.key_operations),
      port(w.identity, w.packets),
      mac_tx({w.scheduler, w.packets, w.port_rate, w.identity.mac, w.identity.link_layer, w.credit,
              config.mac_rx.receive_buffer, w.mtu, path + ".port"},
             config.mac_tx, config.port),
      mac_rx({w.scheduler,
              clock,
              mac_tx,
              {w.port_rate, w.propagation, w.peer_response_time, w.mtu},
              path + ".mac_rx"},
             config.mac_rx, config.port),
      congestion({w.scheduler, clock, contexts, qps, port, mac_tx, w.port_rate},
                 config.congestion_control.config),
      pause_watchdog(w.scheduler, config.port.watchdog, mac_tx.pause_requester(), mac_rx),
      pause_storms(w.scheduler, config.pause_storm, mac_tx.pause_requester()),
      reorder_buffer(mac_rx, config.reorder_buffer),
      completion_events(w.scheduler, clock, cq_contexts, event_queue),
      cqe_writer(w.scheduler, clock, pcie, cq_contexts, completion_events, event_queue,
                 config.cqe_writer),
      receives(w.scheduler, clock, pcie, srqs, config.receive_queue),
      atomics(w.scheduler, clock, pcie, config.atomic_unit),
      retransmitter(w.scheduler, contexts, qps, congestion, config.retransmitter),
      repeater(pcie, contexts, qps),
      completer({w.scheduler, clock, pcie, contexts, qps, local_keys, cqe_writer, event_queue,
                 reorder_buffer, congestion, config.retransmitter.is_selective(), w.elided_payload},
                config.completer),
      wqe_fetch(w.scheduler, clock, pcie, contexts, qps, config.wqe_fetch, w.index),
      requester({w.scheduler, clock, pcie, contexts, qps, local_keys, key_operations, congestion,
                 port, mac_tx, w.elided_payload},
                config.requester),
      responder({w.scheduler, clock, pcie, contexts, qps, remote_keys, port, mac_tx, mac_rx,
                 cqe_writer, receives, atomics, key_operations, congestion,
                 config.retransmitter.is_selective() ? &reorder_buffer : nullptr, w.elided_payload,
                 config.retransmitter.mode == Retransmission::kGoBack0},
                config.responder),
      read_responder({w.scheduler, clock, pcie, contexts, qps, remote_keys, congestion, port,
                      mac_tx, w.elided_payload},
                     config.read_responder),
      ethernet({w.scheduler, clock, pcie, port, mac_tx, mac_rx, w.mtu, w.elided_payload},
               config.ethernet),
      command_unit({w.scheduler, pcie, contexts, cq_contexts, keys, translations, key_operations,
                    qps, completer, wqe_fetch, receives, requester, responder, read_responder,
                    cqe_writer, completion_events, event_queue, page_faults, ethernet},
                   config.command_unit),
      doorbell(w.scheduler, clock, config.doorbell, wqe_fetch, command_unit, event_queue,
               completion_events, page_faults, ethernet) {
  mac_rx.connect(responder, completer, congestion);
  congestion.connect(requester, read_responder);
  completer.connect(wqe_fetch, mac_rx, requester, responder, retransmitter);
  retransmitter.connect(completer, requester, wqe_fetch, repeater);
  repeater.connect(completer, requester);
  event_queue.connect(call<&CqeWriter::go_on>(&cqe_writer));
  cqe_writer.connect_overrun(call<&Completer::cq_overrun>(&completer));
  doorbell.connect(call<&Responder::receives_posted>(&responder));
  receives.connect(call<&Nic::Blocks::srq_limit>(this));
  wqe_fetch.connect(requester, completer);
  requester.connect(completer, wqe_fetch, retransmitter, repeater);
  responder.connect(completer, read_responder);
  read_responder.connect(completer);
  cqe_writer.connect(call<&Nic::Blocks::cqe_room>(this));
  for (const NicStall& fault : config.stall) stall(fault);
}

void Nic::Blocks::stall(const NicStall& fault) {
  const Time until = fault.from + fault.duration;
  switch (fault.block) {
    case StalledBlock::kRequester:
      return requester.block(fault.from, until);
    case StalledBlock::kResponder:
      return responder.block(fault.from, until);
    case StalledBlock::kCompleter:
      return completer.block(fault.from, until);
    case StalledBlock::kPcie:
      return pcie.block(fault.from, until);
  }
}

namespace {

/// Of a packet that crosses a page.
Cycles cycles_of_check(const NicConfig& config) {
  const KeyCheckerConfig& check = config.key_checker;
  return config.key_cache.hit_latency + check.valid + check.protection_domain + check.bounds +
         check.access_rights + config.translation_cache.hit_latency * 2;
}

}  // namespace

Nic::Nic(const sc_core::sc_module_name& module_name, const NicWiring& wiring,
         const NicConfig& config)
    : sc_core::sc_module(module_name),
      blocks_(std::make_unique<Blocks>(name(), wiring, config)),
      request_cycles_(config.responder.pipeline.latency + config.qp_context_cache.hit_latency),
      check_cycles_(cycles_of_check(config)),
      answer_cycles_(config.completer.pipeline.latency + config.qp_context_cache.hit_latency) {
  const Cycles taken =
      config.mac_rx.parser.latency + Cycles(1);  // it waits for an edge of the clock
  request_cycles_ += taken;
  answer_cycles_ += taken;
  blocks_->pcie.socket.bind(dma);
  bar.bind(blocks_->doorbell.socket);
}

Nic::~Nic() = default;

PacketSink& Nic::port() { return blocks_->mac_rx; }

void Nic::connect(PacketSink& link) {
  blocks_->mac_tx.connect(link, call<&Requester::packet_started>(&blocks_->requester),
                          call<&Blocks::response_started>(blocks_.get()));
}

Nic::PortTotals Nic::totals() const {
  return {blocks_->mac_tx.sent(), blocks_->mac_tx.sent_bytes(), blocks_->mac_rx.received(),
          blocks_->mac_rx.received_bytes()};
}

bool Nic::idle() const {
  const Blocks& b = *blocks_;
  return b.pcie.idle() && b.mac_tx.idle() && b.requester.idle() && b.responder.idle() &&
         b.completer.idle() && b.read_responder.idle() && b.receives.idle() && b.atomics.idle() &&
         b.key_operations.idle() && b.cqe_writer.idle() && b.event_queue.idle() &&
         b.page_faults.idle() && b.command_unit.idle() && b.ethernet.idle() && b.doorbell.idle();
}

void Nic::attach(ProbeSink* sink, std::uint32_t component) {
  Blocks& b = *blocks_;
  b.doorbell.probe.attach(sink, component);
  b.contexts.probe.attach(sink, component);
  b.wqe_fetch.probe.attach(sink, component);
  b.requester.probe.attach(sink, component);
  b.responder.probe.attach(sink, component);
  b.read_responder.probe.attach(sink, component);
  b.retransmitter.probe.attach(sink, component);
  b.completer.probe.attach(sink, component);
  b.cqe_writer.probe.attach(sink, component);
  b.event_queue.probe.attach(sink, component);
  b.key_operations.probe.attach(sink, component);
  b.ethernet.probe.attach(sink, component);
  b.mac_tx.probe.attach(sink, component);
  b.mac_rx.probe.attach(sink, component);
}

std::uint8_t Nic::priority_of(const abi::QpContext& context) const {
  return blocks_->mac_tx.priority_of(context);
}

Time Nic::paused_since(std::uint8_t priority) const {
  return blocks_->mac_tx.pause_listener().paused_since(priority);
}

Time Nic::stopped(std::uint8_t priority) const { return blocks_->mac_tx.stopped(priority); }

Time Nic::receive_time(ProbeKind until) const {
  if (until == ProbeKind::kAnswerReceived) return blocks_->clock.duration(answer_cycles_);
  const bool checked = until == ProbeKind::kTranslated;
  return blocks_->clock.duration(request_cycles_ + (checked ? check_cycles_ : Cycles(0)));
}

void Nic::observe_pauses(PauseObserver* observer, PauseObserver::Port port) {
  blocks_->mac_tx.pause_listener().observe(observer, port);
}

Nic::PauseStorm Nic::pause_storm(std::uint8_t priority) const {
  PauseStorm storm{blocks_->mac_tx.pause_listener().longest(priority),
                   blocks_->pause_watchdog.stopped(priority)};
  if (storm.obeyed.lasted < blocks_->pause_watchdog.interval()) storm.obeyed = {};
  return storm;
}

void Nic::attach_tap(PacketTap* tap, std::uint32_t number) {
  blocks_->mac_tx.tap.attach(tap, number);
  blocks_->mac_rx.tap.attach(tap, number);
}

void Nic::signals(const SignalScope& scope) {
  Blocks& b = *blocks_;
  b.doorbell.signals(scope.child("doorbell"));
  b.wqe_fetch.signals(scope.child("wqe_fetch"));
  b.contexts.signals(scope.child("qp_context_cache"));
  b.cq_contexts.signals(scope.child("cq_context_cache"));
  b.keys.signals(scope.child("key_cache"));
  b.translations.signals(scope.child("translation_cache"));
  b.local_keys.signals(scope.child("local_key_checker"));
  b.remote_keys.signals(scope.child("key_checker"));
  b.requester.signals(scope.child("requester"));
  b.responder.signals(scope.child("responder"));
  b.read_responder.signals(scope.child("read_responder"));
  b.completer.signals(scope.child("completer"));
  b.cqe_writer.signals(scope.child("cqe_writer"));
  b.pcie.signals(scope.child("pcie_endpoint"));
  b.congestion.signals(scope.child("congestion_control"));
  b.mac_tx.signals(scope.child("port"));
  b.mac_rx.signals(scope.child("port"));
}

void Nic::report(const MetricScope& scope) const {
  const Blocks& b = *blocks_;
  b.doorbell.report(scope.child("doorbell"));
  b.command_unit.report(scope.child("command_unit"));
  b.wqe_fetch.report(scope.child("wqe_fetch"));
  b.contexts.report(scope.child("qp_context_cache"));
  b.cq_contexts.report(scope.child("cq_context_cache"));
  b.keys.report(scope.child("key_cache"));
  b.translations.report(scope.child("translation_cache"));
  b.local_keys.report(scope.child("local_key_checker"));
  b.remote_keys.report(scope.child("key_checker"));
  b.key_operations.report(scope.child("key_operations"));
  b.requester.report(scope.child("requester"));
  b.responder.report(scope.child("responder"));
  b.read_responder.report(scope.child("read_responder"));
  b.retransmitter.report(scope.child("retransmitter"));
  b.repeater.report(scope.child("repeater"));
  b.reorder_buffer.report(scope.child("reorder_buffer"));
  b.srqs.report(scope.child("srq_context_cache"));
  b.receives.report(scope.child("receive_queue"));
  b.atomics.report(scope.child("atomic_unit"));
  b.completer.report(scope.child("completer"));
  b.cqe_writer.report(scope.child("cqe_writer"));
  b.completion_events.report(scope.child("completion_events"));
  b.event_queue.report(scope.child("event_queue"));
  b.ethernet.report(scope.child("ethernet"));
  b.page_faults.report(scope.child("page_faults"));
  b.pcie.report(scope.child("pcie_endpoint"));
  b.congestion.report(scope.child("congestion_control"));
  b.mac_tx.report(scope.child("port"));
  b.mac_rx.report(scope.child("port"));
  b.pause_watchdog.report(scope.child("port"));
}

}  // namespace rnicsim
