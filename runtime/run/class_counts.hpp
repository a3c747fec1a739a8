#pragma once
/// \file class_counts.hpp
/// The weights of classes that a job asks for, and the numbers of training seeds that balanced ones
/// are made of: those of all parts, so that every process has the same.
#include "runtime/base/result.hpp"
#include "runtime/graph/link_list.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/nn/class_weights.hpp"
#include "runtime/partition/partition_book.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Seeds of each class; those without a label are not counted, repeated ones are.
/// \errors not_found: the labels of a part are not on this host; data_corruption: a label that is no class
/// \cost  maps the labels of the parts that own seeds
Result<std::vector<std::uint64_t>> count_classes(const PartitionedStore& store,
                                                 const PartitionBook& book, const SeedList& seeds);
/// Links of each class. \errors failed_precondition: no labels, or one that is no class
Result<std::vector<std::uint64_t>> count_classes(const LinkList& links, std::uint64_t classes);

/// \param counts  of training seeds by class, which balanced weights read
/// \param seeds   of an epoch
/// \errors failed_precondition: no training seed has a label to balance by; as nn::whole_class_weights()
/// \requires the job has weights
Result<nn::ClassWeights> class_weights(const Job& job, std::span<const std::uint64_t> counts,
                                       std::uint64_t seeds);

}  // namespace troupe
