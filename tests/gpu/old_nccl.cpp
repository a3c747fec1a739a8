// The names of NCCL's functions; says that it is version 2.17.1, and does nothing.
extern "C" {

int ncclGetVersion(int* version) {
  *version = 21701;
  return 0;
}

#define TROUPE_OLD_NCCL_FUNCTION(name) \
  int name() {                         \
    return 3;                          \
  }
TROUPE_OLD_NCCL_FUNCTION(ncclGetUniqueId)
TROUPE_OLD_NCCL_FUNCTION(ncclCommInitRankConfig)
TROUPE_OLD_NCCL_FUNCTION(ncclCommAbort)
TROUPE_OLD_NCCL_FUNCTION(ncclCommGetAsyncError)
TROUPE_OLD_NCCL_FUNCTION(ncclGetErrorString)
TROUPE_OLD_NCCL_FUNCTION(ncclGetLastError)
TROUPE_OLD_NCCL_FUNCTION(ncclGroupStart)
TROUPE_OLD_NCCL_FUNCTION(ncclGroupEnd)
TROUPE_OLD_NCCL_FUNCTION(ncclSend)
TROUPE_OLD_NCCL_FUNCTION(ncclRecv)
TROUPE_OLD_NCCL_FUNCTION(ncclAllGather)
TROUPE_OLD_NCCL_FUNCTION(ncclAllReduce)
}
