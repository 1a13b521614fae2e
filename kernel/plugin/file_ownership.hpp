// file_ownership.hpp — checks whether users other than root and the process's own may change a file or folder.
//
// The file is used all the same: the result is the text of a warning. [any] thread.
#pragma once
#include <sys/stat.h>

#include <string>

namespace consort {

// Returns "may be written by others (mode 0777): chmod go-w" or "belongs to user 1001, …", or "" if no other user may
// write. A group whose number is the user's is that user's private group and is accepted.
std::string other_writers(const struct stat &);

}  // namespace consort
