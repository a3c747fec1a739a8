#pragma once
/// \file count_entities.hpp
/// Counts of a part's rows for queries of a knowledge task (nn/knowledge/entity_ranker.hpp).
#include "runtime/base/executor.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/messages.hpp"

namespace troupe {

/// The same for any executor: rows are counted in blocks of their own.
/// \param rows  of the part, by the places that the request leaves out
/// \requires check_queries(); as many columns as the request says
/// \errors invalid_argument: a score that cannot be, more queries than a product has, places out of order or
///   range
Result<EntityCounts> count_entities(Executor& executor, const RankEntities& request,
                                    ConstMatrix rows);

/// The same of any rows. \errors as count_entities(); data_corruption: as check_queries();
///   invalid_argument: another number of columns
Result<EntityCounts> rank_rows(Executor& executor, const RankEntities& request, ConstMatrix rows);

}  // namespace troupe
