#include "runtime/run/task/link_pairs.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

Result<LinkPairs> LinkPairs::create(const nn::Network& network, nn::BlockOps& ops) {
  if (network.options().decoder.kind.empty()) {
    return Error(Errc::invalid_argument, "task.decoder: expected one for links, found none");
  }
  return LinkPairs(network, ops);
}

LinkPairs::LinkPairs(const nn::Network& network, nn::BlockOps& ops)
    : ops_(&ops),
      types_(network.outputs()),
      cols_(network.options().out_dim),
      options_(network.options().decoder),
      decoder_(nn::make_decoder(network.options().decoder, network.options().out_dim, ops)),
      pairs_(ops),
      row_gradients_(types_.size(), nn::GrowBuffer<float>(ops.memory())),
      parameter_gradients_(ops.memory()) {
  const auto& decoder = network.options().decoder;
  for (const auto& parameter : nn::decoder_parameters(decoder, cols_)) {
    parameters_ += parameter.rows * parameter.cols;
  }
}

std::size_t LinkPairs::place_of(NodeTypeId type) const {
  return static_cast<std::size_t>(std::ranges::find(types_, type) - types_.begin());
}

Status LinkPairs::check(const Batch& batch) const {
  const auto& links = batch.sampled->links;
  if (!links) {
    return Error(Errc::failed_precondition, "links: expected a batch of links, found one of nodes");
  }
  for (const NodeTypeId end : {links->source_type, links->destination_type}) {
    if (place_of(end) == types_.size()) {
      return Error(Errc::failed_precondition,
                   fmt::format("links: expected ends of types that the network has rows of, found "
                               "node type {}",
                               raw(end)));
    }
  }
  const auto& relations = options_.relations;
  if (!relations.empty() && std::ranges::find(relations, links->edge_type) == relations.end()) {
    return Error(
        Errc::failed_precondition,
        fmt::format("links: expected one of the {} edge types that are learned, found edge "
                    "type {}",
                    relations.size(), raw(links->edge_type)));
  }
  const auto positives = links->sources.size();
  const auto negatives = links->negative_sources.size();
  if (links->destinations.size() != positives || links->negative_destinations.size() != negatives ||
      (positives == 0 ? negatives != 0 : negatives % positives != 0)) {
    return Error(Errc::failed_precondition,
                 fmt::format("links: expected as many negatives for each positive, found {} for {}",
                             negatives, positives));
  }
  return ok_status();
}

ConstMatrix LinkPairs::decode(const TaskPass& pass, bool negatives) {
  const auto& links = *pass.batch.sampled->links;
  sources_.assign(links.sources.begin(), links.sources.end());
  destinations_.assign(links.destinations.begin(), links.destinations.end());
  if (negatives) {
    sources_.insert(sources_.end(), links.negative_sources.begin(), links.negative_sources.end());
    destinations_.insert(destinations_.end(), links.negative_destinations.begin(),
                         links.negative_destinations.end());
  }
  from_ = place_of(links.source_type);
  to_ = place_of(links.destination_type);
  range_ = nn::parameters_of(options_, cols_, links.edge_type);
  pairs_.clear();
  const auto of = pairs_.add(std::span<const std::uint32_t>(sources_));
  const auto to = pairs_.add(std::span<const std::uint32_t>(destinations_));
  pairs_.send();
  return decoder_->forward(pass.executor, pass.parameters.subspan(range_.first, range_.count),
                           {.sources = pass.rows[from_],
                            .destinations = pass.rows[to_],
                            .of = pairs_.at<std::uint32_t>(of),
                            .to = pairs_.at<std::uint32_t>(to)});
}

void LinkPairs::gradients(ConstMatrix grad, const TaskPass& pass, TaskGradients& to) {
  std::vector<MutMatrix> rows;
  for (std::size_t i = 0; i < pass.rows.size(); ++i) {
    rows.push_back(row_gradients_[i].matrix(pass.rows[i].rows, pass.rows[i].cols));
    ops_->zero(rows.back().flat());
  }
  const auto parameters = parameter_gradients_.get(parameters_);
  ops_->zero(parameters);
  decoder_->backward(grad, rows[from_], rows[to_], parameters.subspan(range_.first, range_.count));
  to.rows.assign(rows.begin(), rows.end());
  to.parameters = parameters;
}

}  // namespace troupe
