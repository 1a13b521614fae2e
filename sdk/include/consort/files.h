/* consort/files.h — optional extension of a driver: named files in a folder, which outlive the process. The checkpoints of a job lie
 * there.
 *
 * A file that is created has a temporary name until commit(), so a reader sees all of it or none, and a process that is killed leaves
 * nothing under the name. Folders and files that another user owns, or that others may write, are refused. Each function that fails
 * calls host->fail() with the path, the system's error and the remedy. */
#ifndef CONSORT_FILES_H
#define CONSORT_FILES_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { /* of open_folder() */
  CONSORT_FILES_CREATE = 1 << 0,  /* the folder is made if it is missing, for this user alone */
  CONSORT_FILES_LOCK = 1 << 1     /* E_BUSY if a process has it locked; the lock ends with close_folder() or the process */
};
/* plugin->get(self, CONSORT_FILES_ID). All functions may block. Calls for one folder and its files come one at a time, from any
 * thread. No device needs to be open. */
#define CONSORT_FILES_ID "consort.files/1"
typedef struct consort_files_ops {
  uint32_t size, flags;
  consort_status (*open_folder)(void *self, const char *path, uint32_t how, void **folder);
  void (*close_folder)(void *folder);                                        /* its files are closed */
  consort_status (*create)(void *folder, const char *name, void **file);     /* empty, under a temporary name. name: no slash */
  consort_status (*write)(void *file, const void *bytes, uint64_t n);        /* appends; E_NOMEM: the disk is full */
  consort_status (*commit)(void *file);                                      /* the disk has its bytes, and it has its name; a file of that name is replaced at once */
  consort_status (*open)(void *folder, const char *name, uint64_t *bytes, void **file); /* *file NULL: there is none */
  consort_status (*read)(void *file, uint64_t at, void *out, uint64_t n);    /* all n bytes; E_TRUNCATED: the file is shorter */
  void (*close)(void *file);                                                 /* created and not committed: it is removed */
  consort_status (*remove)(void *folder, const char *name);                  /* OK, too, if there is none */
  consort_status (*list)(void *folder, void (*each)(void *arg, const char *name), void *arg); /* in any order; each() calls nothing of the folder */
} consort_files_ops;

#ifdef __cplusplus
}
#endif
#endif
