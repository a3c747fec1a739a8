#pragma once
/// \file block_draw.hpp
/// Edges of a stochastic block model (Holland, Laskey, Leinhardt: "Stochastic blockmodels: first
/// steps", Social Networks 1983) with as many edges as asked for, between two node types or within
/// one.
#include "runtime/generate/edge_draw.hpp"
#include "runtime/generate/node_classes.hpp"

#include <cstdint>
#include <memory>

namespace troupe::generate {

struct BlockDrawOptions {
  std::shared_ptr<const NodeClasses> sources;
  std::shared_ptr<const NodeClasses> destinations;  ///< of as many classes
  double homophily = 0.8;
  std::uint64_t seed = 0;
  std::uint16_t type = 0;  ///< number of the edge type
};
/// The source is any node; the destination a node of its class with probability `homophily`, else
/// a node of the other classes; each as likely as the others.
/// \requires homophily 1 where there is one class
MakeEdgeDraw block_draw(const BlockDrawOptions& options);

}  // namespace troupe::generate
