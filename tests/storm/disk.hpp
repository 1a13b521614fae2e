// disk.hpp — a disk in a real file, read and written by the thread that polls: a case with it repeats exactly.
//
// It has the file, the extents and the checksums of the drivers of disks, and a queue of its own. Its setting `fault` is
// KIND@N: the Nth transfer of that kind goes wrong.
//   read, write   the transfer answers EIO
//   full          the write answers ENOSPC
//   short         the transfer stops half-way, and goes on in a second one: nothing may fail
//   ends          the read stops half-way for good
//   spoilt        a byte of the file changes before it is read: the checksum finds it
#pragma once
#include <consort/consort.h>

namespace storm {

consort_entry_fn *disk_entry();

}  // namespace storm
