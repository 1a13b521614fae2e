/* The main program of tests/compat: runs the program that its argument names; without one, lists all. */
#include "check.h"

struct program *programs;
int checks, failures;

void check_outcome(int holds, const char *text, const char *file, int line) {
  const char *base = strrchr(file, '/');
  ++checks;
  printf("%s %s:%d %s\n", holds ? "ok" : "NOT OK", base ? base + 1 : file, line, text);
  if (!holds) ++failures;
}

void start_with(int workers, const char *policy) {
  struct starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = workers;
  conf.ncuda = 0;
  conf.nopencl = 0;
  conf.sched_policy_name = policy;
  if (starpu_init(&conf) != 0) {
    puts("starpu_init failed");
    exit(2);
  }
}

int main(int argc, char **argv) {
  struct program *p;
  for (p = programs; p; p = p->next) {
    if (argc < 2) puts(p->name);
    else if (!strcmp(p->name, argv[1])) break;
  }
  if (argc < 2) return 0;
  if (!p) {
    printf("no such program: %s\n", argv[1]);
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  p->run();
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
