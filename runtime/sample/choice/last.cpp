#include "runtime/sample/choice/last.hpp"

#include <algorithm>

namespace troupe {
namespace {

class Last : public Choice {
 public:
  explicit Last(std::uint32_t fanout) : fanout_(fanout) {}

  void plan(StreamKey /*key*/, std::span<Stretch> group) override {
    for (auto& stretch : group) {
      stretch.taken = std::min(stretch.entries, fanout_);
      stretch.whole = stretch.entries <= fanout_;
    }
  }

  void choose(StreamKey /*key*/, std::span<Stretch> group,
              std::span<std::uint32_t> positions) override {
    auto* out = positions.data();
    for (const auto& stretch : group) {
      for (std::uint32_t k = 0; k < stretch.taken; ++k) {
        *out++ = stretch.entries - stretch.taken + k;
      }
    }
  }

 private:
  std::uint32_t fanout_;
};

}  // namespace

std::unique_ptr<Choice> make_last(const ChoiceOptions& options) {
  return std::make_unique<Last>(options.fanout);
}

}  // namespace troupe
