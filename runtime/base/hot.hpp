#pragma once
/// \file hot.hpp
/// Marks functions that rows pass through, which are worth a second version for wider vectors.

/// Where the program is compiled for processors with AVX2 (TROUPE_PROCESSOR=x86-64-v3, as in the Debian
/// package), the function is compiled for AVX-512 too, and the processor decides at start which one
/// runs. Both give the same bits: nothing is reordered or contracted (-ffp-contract=off). What it calls
/// has to be inlined. Not for templates and members.
#ifdef TROUPE_AVX512_CLONES
#define TROUPE_HOT __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#define TROUPE_HOT
#endif
