#pragma once
/// \file hostile_replies.hpp
/// A collection of rows over parts in memory, with replies to spoil.
#include "tests/runtime/feature/collect.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

/// One collection and its correct replies, by question.
class HostileReplies : public ::testing::Test {
 protected:
  /// \param options_of, sampled_of  of the cut graph: what is collected, for which batch
  template <class OptionsOf, class SampledOf>
  HostileReplies(CutGraph cut, OptionsOf options_of, SampledOf sampled_of)
      : cut_(std::move(cut)),
        sampled_(std::make_shared<const SampledBatch>(sampled_of(cut_))),
        collection_(*cut_.book, options_of(cut_), sampled_) {
    for (const auto& question : collection_.questions()) {
      auto reply = read_part_rows(*cut_.parts[raw(question.part)], question.request);
      EXPECT_OK(reply);
      replies_.push_back(*reply);
    }
  }

  void expect_corrupt(const std::string& text, const std::function<void(RowReply&)>& spoil) {
    RowReply bad = replies_[0];
    spoil(bad);
    EXPECT_ERROR(collection_.answer(0, bad), Errc::data_corruption, text);
  }

  CutGraph cut_;
  std::shared_ptr<const SampledBatch> sampled_;
  RowCollection collection_;
  std::vector<RowReply> replies_;
};

}  // namespace troupe::testing
