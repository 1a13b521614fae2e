# nettle, for the proof that a rank has the job's secret: NETTLE_INCLUDE_DIR and NETTLE_LIBRARY, where it is there.
find_path(NETTLE_INCLUDE_DIR nettle/hmac.h)
find_library(NETTLE_LIBRARY nettle)
mark_as_advanced(NETTLE_INCLUDE_DIR NETTLE_LIBRARY)
