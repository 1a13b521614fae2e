// choice.hpp — which MPI library this process uses, and the file of this plugin that is built for its ABI. [control]
#pragma once
#include <string>

#include "library.hpp"

namespace mpi {

// `wanted`: "openmpi", "mpich", or "auto": the one that the process has loaded, else the one of the launcher by its
// environment, else the first that loads. The library stays loaded. Throws an Error that says what was tried.
Library &load(const std::string &wanted);

}  // namespace mpi
