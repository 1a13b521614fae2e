# consort_packets: what transports over a network share, once for all of them, if nettle is there.
find_package(Threads REQUIRED) # needed when a plugin is built alone, in each of their folders
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/../nettle.cmake)
if(NETTLE_INCLUDE_DIR AND NETTLE_LIBRARY)
  set(packets ${CMAKE_CURRENT_LIST_DIR})
  consort_add_plugin_library(consort_packets SOURCES ${packets}/endpoint.cpp ${packets}/messages.cpp
    ${packets}/handshake.cpp LINK Threads::Threads ${NETTLE_LIBRARY})
  target_include_directories(consort_packets SYSTEM PUBLIC ${NETTLE_INCLUDE_DIR})
endif()
