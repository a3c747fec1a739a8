#include "runtime/generate/block_draw.hpp"

#include "runtime/generate/streams.hpp"

#include <vector>

namespace troupe::generate {
namespace {

using IdTable = std::shared_ptr<const std::vector<std::uint32_t>>;

class BlockDraw final : public EdgeDraw {
 public:
  BlockDraw(const BlockDrawOptions& options, IdTable source_ids, IdTable destination_ids)
      : sources_(options.sources),
        destinations_(options.destinations),
        source_ids_(std::move(source_ids)),
        destination_ids_(std::move(destination_ids)),
        key_(stream(options.seed, Stream::ends, options.type)),
        inside_below_(word_bound(options.homophily)) {}

  void draw(std::uint64_t first, std::span<std::uint64_t> sources,
            std::span<std::uint64_t> destinations) const override {
    const auto nodes = static_cast<std::uint32_t>(sources_->nodes());
    for (std::size_t i = 0; i < sources.size(); ++i) {
      DrawStream words(key_, first + i);
      const auto source = words.below(nodes);
      const auto destination = destination_of(sources_->class_of_place(source), words);
      sources[i] = (*source_ids_)[source];
      destinations[i] = (*destination_ids_)[destination];
    }
  }

 private:
  std::uint64_t destination_of(std::uint64_t of_class, DrawStream& words) const {
    const auto begin = destinations_->begin(of_class);
    const auto size = destinations_->begin(of_class + 1) - begin;
    if (words.next() < inside_below_) {
      return begin + words.below(static_cast<std::uint32_t>(size));
    }
    const auto place = words.below(static_cast<std::uint32_t>(destinations_->nodes() - size));
    return place < begin ? place : place + size;
  }

  std::shared_ptr<const NodeClasses> sources_;
  std::shared_ptr<const NodeClasses> destinations_;
  IdTable source_ids_;
  IdTable destination_ids_;
  StreamKey key_;
  std::uint64_t inside_below_;
};

}  // namespace

MakeEdgeDraw block_draw(const BlockDrawOptions& options) {
  return [options](Executor& executor) -> std::unique_ptr<const EdgeDraw> {
    const auto table = [&executor](const NodeClasses& classes) {
      return std::make_shared<const std::vector<std::uint32_t>>(
          permutation_table(classes.ids(), executor));
    };
    const auto sources = table(*options.sources);
    return std::make_unique<BlockDraw>(
        options, sources,
        options.destinations == options.sources ? sources : table(*options.destinations));
  };
}

}  // namespace troupe::generate
