#include "runtime/data/archive_pairs.hpp"

#include "runtime/data/npy_source.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

namespace troupe {
namespace {

using namespace graph_source;
using npy_source::bad_input;
using npy_source::block_elements;

class ArchivePairs final : public EdgeRows {
 public:
  ArchivePairs(std::string name, ArraySource array, const EdgeEnds& ends)
      : name_(std::move(name)), array_(std::move(array)), ends_(ends) {}
  std::uint64_t count() const override { return array_.shape()[1]; }

  Status read(Executor& executor, const TakeEdges& take) const override {
    TROUPE_ASSIGN_OR_RETURN(auto sources, array_.cursor());
    TROUPE_ASSIGN_OR_RETURN(auto destinations, array_.cursor(count()));
    std::array<Side, 2> sides{Side{&sources, "a source's node id", ends_.source},
                              Side{&destinations, "a destination's node id", ends_.destination}};
    for (std::uint64_t first = 0; first < count(); first += block_elements) {
      const auto some = std::min(block_elements, count() - first);
      executor.parallel_for(2, [&](std::size_t side) { read_side(sides[side], first, some); });
      for (const auto& side : sides) {
        TROUPE_RETURN_IF_ERROR(side.status);
      }
      TROUPE_RETURN_IF_ERROR(take({sides[0].ids, sides[1].ids}));
    }
    return destinations.finish();  // the cursor that saw all bytes
  }

 private:
  struct Side {
    ArrayCursor* cursor = nullptr;
    const char* what = "";
    std::uint64_t end = 0;
    std::vector<std::uint64_t> ids{};
    Status status = ok_status();
  };

  void read_side(Side& side, std::uint64_t first, std::uint64_t some) const {
    side.status = [&]() -> Status {
      TROUPE_ASSIGN_OR_RETURN(const auto block, side.cursor->next(some));
      TROUPE_ASSIGN_OR_RETURN(
          side.ids, npy_source::read_ids(block, {name_, side.what, 0, some, side.end, first}));
      return ok_status();
    }();
  }

  std::string name_;
  ArraySource array_;
  EdgeEnds ends_;
};

}  // namespace

Result<std::unique_ptr<EdgeRows>> open_archive_pairs(std::string name, ArraySource array,
                                                     const EdgeEnds& ends) {
  const auto& shape = array.shape();
  if (shape.size() != 2 || shape[0] != 2) {
    return bad_input(name, fmt::format("expected shape [2, edges], got {}", shape_text(shape)));
  }
  return std::unique_ptr<EdgeRows>(
      std::make_unique<ArchivePairs>(std::move(name), std::move(array), ends));
}

}  // namespace troupe
