// files.hpp — named files in a folder that outlive the process: consort/files.h for the file drivers.
//
// A file is written under a temporary name (temporary_file.hpp), synchronized, and renamed. Folders and files are opened
// without following links, and must belong to this user. The calls of a folder come one at a time; they block.
#pragma once
#include <consort/files.h>
#include <consort/shared/temporary_file.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "device.hpp"

namespace disk {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  Descriptor(Descriptor &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&o) noexcept { return std::swap(fd_, o.fd_), *this; }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

struct NamedFolder {
  const Driver &driver;
  const std::string path;
  Descriptor fd, lock;

  std::string at(const char *name) const { return path + "/" + name; }
  // errno is the reason.
  consort_status fail(const char *what, const std::string &where) const {
    const int e = errno;
    const bool is_full = e == ENOSPC || e == EDQUOT || e == EFBIG;
    std::string text = std::string(what) + " " + where + ": " + text_of(e);
    struct statvfs fs {};
    if (is_full && fstatvfs(fd.get(), &fs) == 0)
      text += ", " + std::to_string(static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize) + " bytes are free there; free some space, or take another folder";
    else if (e == EACCES || e == EROFS || e == EPERM)
      text += "; take a folder that this user may write";
    return driver.fail(is_full ? CONSORT_E_NOMEM : CONSORT_E_IO, text);
  }
};

// OK, or why the file or folder is not to be trusted.
inline consort_status check_owner(const Driver &driver, const struct stat &s, const std::string &path) {
  if (s.st_uid != ::geteuid())
    return driver.fail(CONSORT_E_INVAL, path + " belongs to user " + std::to_string(s.st_uid) + ", who may change it: take one of this user");
  if (s.st_mode & (S_IWGRP | S_IWOTH))
    return driver.fail(CONSORT_E_INVAL, path + " may be written by other users: chmod go-w takes that away");
  return CONSORT_OK;
}

struct NamedFile {
  NamedFolder &folder;
  const std::string path;
  std::unique_ptr<consort::shared::TemporaryFile> made;  // nullptr: opened to be read
  uint64_t written = 0;
  Descriptor fd;
};

template <class Maker>
struct Files {
  static NamedFolder &of(void *folder) noexcept { return *static_cast<NamedFolder *>(folder); }
  static NamedFile &file(void *f) noexcept { return *static_cast<NamedFile *>(f); }
  template <class F>
  static consort_status guarded(const Driver &driver, F body) noexcept {
    try {
      return body();
    } catch (...) {
      return consort::plugin::caught(driver.host, "out of memory for a file");
    }
  }

  static consort_status open_folder(void *self, const char *path, uint32_t how, void **out) noexcept {
    const Driver &driver = *static_cast<Maker *>(self);
    return guarded(driver, [&]() -> consort_status {
      std::unique_ptr<NamedFolder> f(new NamedFolder{driver, path, Descriptor(), Descriptor()});
      if (how & CONSORT_FILES_CREATE && ::mkdir(path, 0700) != 0 && errno != EEXIST) return f->fail("cannot make the folder", path);
      f->fd = Descriptor(::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      struct stat s {};
      if (f->fd.get() < 0 || ::fstat(f->fd.get(), &s) != 0) return f->fail("cannot open the folder", path);
      if (const consort_status bad = check_owner(driver, s, path); bad < 0) return bad;
      if (how & CONSORT_FILES_LOCK) {
        f->lock = Descriptor(::openat(f->fd.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
        if (f->lock.get() < 0) return f->fail("cannot make", f->at("lock"));
        if (::flock(f->lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
          return driver.fail(CONSORT_E_BUSY, std::string(path) + " is in use by another job: take another folder, or wait for its end");
      }
      *out = f.release();
      return CONSORT_OK;
    });
  }
  static void close_folder(void *folder) noexcept { delete &of(folder); }

  static consort_status create(void *folder, const char *name, void **out) noexcept {
    NamedFolder &where = of(folder);
    return guarded(where.driver, [&]() -> consort_status {
      std::unique_ptr<NamedFile> f(new NamedFile{where, where.at(name), nullptr, 0, Descriptor()});
      f->made = std::make_unique<consort::shared::TemporaryFile>(f->path);
      if ((errno = f->made->error())) return where.fail("cannot write", f->path);
      *out = f.release();
      return CONSORT_OK;
    });
  }
  static consort_status write(void *to, const void *bytes, uint64_t n) noexcept {
    NamedFile &f = file(to);
    return guarded(f.folder.driver, [&]() -> consort_status {
      if (const uint64_t most = File::longest(); n > most || f.written > most - n) {  // the system would send a fatal signal
        errno = EFBIG;
        return f.folder.fail("cannot write", f.path);
      }
      if (!f.made->write({static_cast<const char *>(bytes), n})) return f.folder.fail("cannot write", f.path);
      f.written += n;
      return CONSORT_OK;
    });
  }
  static consort_status commit(void *to) noexcept {
    NamedFile &f = file(to);
    return guarded(f.folder.driver, [&]() -> consort_status {
      if (!f.made->sync() || !f.made->rename() || ::fsync(f.folder.fd.get()) != 0) return f.folder.fail("cannot write", f.path);
      return CONSORT_OK;
    });
  }

  static consort_status open(void *folder, const char *name, uint64_t *bytes, void **out) noexcept {
    NamedFolder &where = of(folder);
    return guarded(where.driver, [&]() -> consort_status {
      *out = nullptr;
      std::unique_ptr<NamedFile> f(new NamedFile{where, where.at(name), nullptr, 0, Descriptor()});
      f->fd = Descriptor(::openat(where.fd.get(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
      if (f->fd.get() < 0 && errno == ENOENT) return CONSORT_OK;
      struct stat s {};
      if (f->fd.get() < 0 || ::fstat(f->fd.get(), &s) != 0) return where.fail("cannot read", f->path);
      if (!S_ISREG(s.st_mode)) return where.driver.fail(CONSORT_E_INVAL, f->path + " is not a plain file: remove it");
      if (const consort_status bad = check_owner(where.driver, s, f->path); bad < 0) return bad;
      *bytes = static_cast<uint64_t>(s.st_size);
      *out = f.release();
      return CONSORT_OK;
    });
  }
  static consort_status read(void *from, uint64_t at, void *out, uint64_t n) noexcept {
    const NamedFile &f = file(from);
    return guarded(f.folder.driver, [&]() -> consort_status {
      for (uint64_t done = 0; done < n;) {
        const ssize_t got = ::pread(f.fd.get(), static_cast<char *>(out) + done, n - done, static_cast<off_t>(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return f.folder.fail("cannot read", f.path);
        if (got == 0)
          return f.folder.driver.fail(CONSORT_E_TRUNCATED, f.path + " ends after " + std::to_string(at + done) + " bytes: it was cut short");
        done += static_cast<uint64_t>(got);
      }
      return CONSORT_OK;
    });
  }
  static void close(void *f) noexcept { delete &file(f); }

  static consort_status remove(void *folder, const char *name) noexcept {
    const NamedFolder &where = of(folder);
    return guarded(where.driver, [&]() -> consort_status {
      return ::unlinkat(where.fd.get(), name, 0) == 0 || errno == ENOENT ? CONSORT_OK : where.fail("cannot remove", where.at(name));
    });
  }
  static consort_status list(void *folder, void (*each)(void *arg, const char *name), void *arg) noexcept {
    const NamedFolder &where = of(folder);
    return guarded(where.driver, [&]() -> consort_status {
      const std::unique_ptr<DIR, int (*)(DIR *)> all(::opendir(where.path.c_str()), ::closedir);
      if (!all) return where.fail("cannot list", where.path);
      while (const dirent *e = ::readdir(all.get())) each(arg, e->d_name);
      return CONSORT_OK;
    });
  }

  static constexpr consort_files_ops ops = {sizeof(consort_files_ops), 0, open_folder, close_folder, create, write, commit,
                                            open, read, close, remove, list};
};

}  // namespace disk
