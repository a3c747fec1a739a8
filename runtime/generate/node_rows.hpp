#pragma once
/// \file node_rows.hpp
/// Features and labels of generated nodes, and features of edges, as rows that an import reads: functions of the
/// node or edge alone.
#include "runtime/base/philox.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/generate/node_classes.hpp"
#include "runtime/generate/streams.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe::generate {

struct FeatureDraw {
  std::uint64_t nodes = 0;  ///< or edges
  std::uint64_t cols = 0;
  DType dtype = DType::f32;
  double noise = 1;
  std::uint64_t seed = 0;
  std::uint16_t type = 0;  ///< number of the node or edge type
  Stream words = Stream::features;
};

/// Uniform in [-0.5, 0.5). As u8: in 255 steps from 0 to 1.
/// \requires cols > 0
std::unique_ptr<graph_source::FeatureRows> uniform_features(const FeatureDraw& draw);

/// The centre of the node's class plus noise. Centres have length 1 and random directions, the same
/// for all node types of as many columns; noise has a deviation of `draw.noise` in every column and
/// is the sum of four uniform numbers: nearly normal, with the same bits on every machine. Two
/// classes are about 1.4 apart, so with a noise of 1 a node's own features tell little. As u8:
/// what is negative becomes 0, the rest is in 255 steps.
/// \requires cols > 0; classes x cols is small enough for memory
std::unique_ptr<graph_source::FeatureRows> class_features(
    const FeatureDraw& draw, std::shared_ptr<const NodeClasses> classes);

/// A node's class.
std::unique_ptr<graph_source::LabelRows> class_labels(std::shared_ptr<const NodeClasses> classes);
/// Uniform labels that nothing knows.
std::unique_ptr<graph_source::LabelRows> random_labels(std::uint64_t nodes, std::uint64_t classes,
                                                       std::uint64_t seed);

}  // namespace troupe::generate
