#include "plugin/file_ownership.hpp"

#include <unistd.h>

#include <cstdio>

namespace consort {

std::string other_writers(const struct stat &s) {
  char text[128];
  if (s.st_uid != 0 && s.st_uid != ::geteuid() && s.st_uid != ::getuid()) {
    std::snprintf(text, sizeof text, "belongs to user %u, who may change it: take what you or root own", s.st_uid);
    return text;
  }
  const bool group = (s.st_mode & S_IWGRP) && s.st_gid != s.st_uid, all = s.st_mode & S_IWOTH;
  if (!group && !all) return {};
  std::snprintf(text, sizeof text, "may be written by %s (mode %04o): chmod %s takes that away",
                all ? "every user" : "its group", s.st_mode & 07777u, all ? "go-w" : "g-w");
  return text;
}

}  // namespace consort
