# The toolchain of tests/checks/aarch64.sh: Debian's cross compiler, its C library, and a folder with the few libraries
# that are not part of it. CONSORT_SYSROOT is set by the script.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CONSORT_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${CONSORT_SYSROOT} ${CONSORT_SYSROOT}/usr)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
# hwloc's own libraries are found beside it when a program is linked
add_link_options(-Wl,-rpath-link,${CONSORT_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
