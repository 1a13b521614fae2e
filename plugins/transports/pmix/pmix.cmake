# consort_pmix: the start-up through PMIx, once for all transports, if its headers are there. The library is loaded when it
# is needed.
include_guard(GLOBAL)
find_package(Threads REQUIRED)
find_path(PMIX_INCLUDE_DIR pmix.h PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/include)
mark_as_advanced(PMIX_INCLUDE_DIR)
set(pmix ${CMAKE_CURRENT_LIST_DIR})
if(PMIX_INCLUDE_DIR)
  consort_add_plugin_library(consort_pmix SOURCES ${pmix}/board.cpp ${pmix}/library.cpp LINK Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(consort_pmix SYSTEM PRIVATE ${PMIX_INCLUDE_DIR})
else()
  message(STATUS "transports do not start through PMIx: its headers are missing (Debian: libpmix-dev)")
  consort_add_plugin_library(consort_pmix SOURCES ${pmix}/no_board.cpp)
endif()
