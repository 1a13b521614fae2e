/* check.h: what the programs of tests/compat say. Each program is compiled and run twice, over StarPU and over Consort, and
 * must print the same: what is printed is therefore fixed by the program's dependences alone.
 *   PROGRAM(name) { ... }   one program; starpu_init() is its own business, START() and STOP() do it plainly
 *   CHECK(condition)        an assertion, counted; its text and its outcome are printed
 *   SAY(format, ...)        a line that must be the same */
#ifndef COMPAT_CHECK_H
#define COMPAT_CHECK_H
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
  const char *name;
  void (*run)(void);
  struct program *next;
};
extern struct program *programs;
extern int checks, failures;
void check_outcome(int holds, const char *text, const char *file, int line);

#define PROGRAM(id)                                                                 \
  static void run_##id(void);                                                       \
  static struct program program_##id = {#id, run_##id, NULL};                       \
  __attribute__((constructor)) static void enter_##id(void) {                       \
    program_##id.next = programs;                                                   \
    programs = &program_##id;                                                       \
  }                                                                                 \
  static void run_##id(void)
#define CHECK(condition) check_outcome((condition) != 0, #condition, __FILE__, __LINE__)
#define SAY(...) (printf(__VA_ARGS__), putchar('\n'))

/* Starts the runtime with so many workers, cores alone. */
void start_with(int workers, const char *policy);
#define START() start_with(2, NULL)
#define STOP() starpu_shutdown()
#endif
