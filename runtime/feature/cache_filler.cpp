#include "runtime/feature/cache_filler.hpp"

#include <utility>

namespace troupe {
namespace {

// Rows of one request: small beside a window, so that batches pass it.
constexpr std::uint64_t piece_bytes = 1 << 20;

}  // namespace

CacheFiller::CacheFiller(std::shared_ptr<const GraphInfo> graph,
                         std::shared_ptr<const PartitionBook> book,
                         std::shared_ptr<const CacheOptions> options, std::vector<bool> here)
    : graph_(std::move(graph)),
      book_(std::move(book)),
      options_(std::move(options)),
      here_(std::move(here)) {}

CacheFiller::Choose CacheFiller::watch(std::span<const RowQuestion> elsewhere) {
  if (begun_) {
    return nullptr;
  }
  if (options_->policy == CacheOptions::Policy::order) {
    begun_ = true;
    return [graph = graph_, book = book_, options = options_, here = here_] {
      return cache_questions(*graph, choose_first_rows(*graph, *book, *options, here), piece_bytes);
    };
  }
  if (!counter_) {
    counter_ = std::make_shared<RowCounter>(graph_->node_types.size());
  }
  for (const auto& question : elsewhere) {
    for (const auto& section : question.request.sections) {
      if (section.with_rows) {
        counter_->count(section);
      }
    }
  }
  if (++watched_ != options_->presample_batches) {
    return nullptr;
  }
  begun_ = true;
  return [graph = graph_, book = book_, options = options_,
          counter = std::exchange(counter_, nullptr)] {
    return cache_questions(*graph, counter->choose(*graph, *book, options->budget_bytes),
                           piece_bytes);
  };
}

void CacheFiller::chosen(std::vector<RowQuestion> questions) {
  questions_ = std::move(questions);
  filling_ = std::make_shared<RowCache>(*graph_);
  finish();
}

const RowQuestion* CacheFiller::next() const {
  return filling_ ? &questions_[next_] : nullptr;
}

Status CacheFiller::take(const RowReply& reply) {
  if (auto kept = filling_->add(questions_[next_], reply); !kept) {
    give_up(kept.error());
    return kept;
  }
  ++next_;
  finish();
  return ok_status();
}

void CacheFiller::give_up(const Error& why) {
  filling_ = nullptr;
  questions_ = {};
  damage_ = why;
}

/// The cache is whole after the last reply.
void CacheFiller::finish() {
  if (next_ < questions_.size()) {
    return;
  }
  whole_ = std::exchange(filling_, nullptr);
  questions_ = {};
  if (options_->measure) {
    measure_ = std::make_shared<BestHitsOfEpochs>(whole_->rows_of_types());
  }
}

}  // namespace troupe
