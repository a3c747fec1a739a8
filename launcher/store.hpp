#pragma once
/// \file store.hpp
/// For programs that write graph stores from data of their own (`StoreWriter`), or partition them by a method of
/// their own (`partition_store` with `PartitionOptions::own`); examples/store has one of each.
#include "runtime/base/executor.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/partitioner.hpp"
