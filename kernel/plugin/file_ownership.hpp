// file_ownership.hpp — may another user than root and this process's own change a file, or a folder's contents?
//
// What such a file says is still believed: the answer is a warning, in words. [any] thread.
#pragma once
#include <sys/stat.h>

#include <string>

namespace consort {

// "may be written by others (mode 0777): chmod go-w" or "belongs to user 1001, …"; "": nobody else may write.
// The private group of a user, whose number is the user's, counts as the user.
std::string who_else_may_write(const struct stat &);

}  // namespace consort
