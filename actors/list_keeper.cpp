#include "actors/list_keeper.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/offload.hpp"

#include <caf/all.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t piece_nodes = 256;  // small beside a window, so that batches pass it
constexpr std::chrono::seconds pause{1};    // after a failure, before the piece is asked for again
constexpr int most_failures = 100;          // in a row

struct KeeperState {
  const char* name = "troupe.list_keeper";
  std::shared_ptr<const HostContext> host;
  std::shared_ptr<CachedLists> lists;
  caf::actor sampler;
  std::shared_ptr<const CollectOptions> collect;
  std::vector<ListPiece> pieces;
  std::size_t next = 0;
  int failures = 0;
  std::shared_ptr<ListCacheBuilder> builder;
};
using Keeper = caf::stateful_actor<KeeperState>;

/// Original ids of the seeds, nothing else.
std::shared_ptr<const CollectOptions> collect_ids(std::size_t types) {
  CollectOptions options;
  options.decoders.assign(types, RowDecoder::plain(0));
  options.with_labels = false;
  options.seeds_only = true;
  return std::make_shared<const CollectOptions>(std::move(options));
}

std::vector<ListPiece> pieces_of(const HostContext& host) {
  std::vector<bool> here(host.book->parts());
  for (std::uint32_t part = 0; part < host.book->parts(); ++part) {
    here[part] = host.local_lists(static_cast<PartId>(part)) != nullptr;
  }
  return list_pieces(*host.graph, *host.book, host.lists_cache->heat, host.sample->dir, here,
                     {piece_nodes, host.lists_cache->budget_bytes});
}

void keep(Keeper* self) {
  auto& state = self->state;
  offload(
      self, *state.host->executor,
      [builder = std::exchange(state.builder, nullptr),
       id = static_cast<PartId>(state.host->book->parts())] {
        return std::move(*builder).take(id);
      },
      [self](Result<std::shared_ptr<const Part>> part) {
        if (part) {  // without kept lists batches ask the owners, as before
          self->state.lists->set(*std::move(part));
        }
        self->quit();
      });
}

void fetch(Keeper* self);

void take(Keeper* self, const Ref<ReadyBatch>& ready) {
  auto& state = self->state;
  state.failures = 0;
  offload(
      self, *state.host->executor,
      [builder = state.builder, piece = state.pieces[state.next], ready] {
        return builder->add(piece, *ready->batch.sampled,
                            ready->batch.rows[raw(piece.type)].original_ids);
      },
      [self](bool fits) {
        auto& filled = self->state;
        if (fits && ++filled.next < filled.pieces.size()) {
          fetch(self);
        } else {
          keep(self);
        }
      });
}

/// Asks for the next piece. A holder that is lost is asked again when it may be back.
void fetch(Keeper* self) {
  auto& state = self->state;
  const auto& piece = state.pieces[state.next];
  SampleBatch request;
  request.key = {Purpose::evaluate, 0, state.next};
  request.seed_type = piece.type;
  request.seeds = piece.nodes();
  request.sample = state.builder->fetch_options();
  request.collect = state.collect;
  self->request(state.sampler, caf::infinite, Ref<SampleBatch>(std::move(request)))
      .then([self](const Ref<ReadyBatch>& ready) { take(self, ready); },
            [self](const caf::error&) {
              if (++self->state.failures == most_failures) {
                return self->quit();
              }
              self->delayed_send(self, pause, Ref<CacheGoesOn>(CacheGoesOn{}));
            });
}

caf::behavior keeper(Keeper* self, std::shared_ptr<const HostContext> host,
                     std::shared_ptr<CachedLists> lists, const caf::actor& sampler) {
  auto& state = self->state;
  state.host = std::move(host);
  state.lists = std::move(lists);
  state.sampler = sampler;
  state.collect = collect_ids(state.host->graph->node_types.size());
  state.builder = std::make_shared<ListCacheBuilder>(state.host->graph, *state.host->sample,
                                                     state.host->lists_cache->budget_bytes);
  self->monitor(sampler);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  offload(
      self, *state.host->executor, [host = state.host] { return pieces_of(*host); },
      [self](std::vector<ListPiece> pieces) {
        self->state.pieces = std::move(pieces);
        if (self->state.pieces.empty()) {
          return self->quit();
        }
        fetch(self);
      });
  return {
      [self](const Ref<CacheGoesOn>&) { fetch(self); },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_list_keeper(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                             std::shared_ptr<CachedLists> lists, const caf::actor& sampler) {
  return system.spawn(keeper, std::move(host), std::move(lists), sampler);
}

}  // namespace troupe
