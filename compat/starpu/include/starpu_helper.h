/* starpu_helper.h: the environment, the clock, calls on workers, copies. */
#ifndef CONSORT_STARPU_HELPER_H
#define CONSORT_STARPU_HELPER_H
#include <stdio.h>

#include <starpu_data.h>
#include <starpu_util.h>
#ifdef __cplusplus
extern "C" {
#endif
#define STARPU_MIN(a, b) ((a) < (b) ? (a) : (b))
#define STARPU_MAX(a, b) ((a) < (b) ? (b) : (a))
#define STARPU_POISON_PTR ((void *)0xdeadbeef)
char *starpu_getenv(const char *str);
int starpu_get_env_string_var_default(const char *str, const char *strings[], int defvalue);
int starpu_get_env_size_default(const char *str, int defval);
void starpu_execute_on_each_worker(void (*func)(void *), void *arg, uint32_t where);
void starpu_execute_on_each_worker_ex(void (*func)(void *), void *arg, uint32_t where, const char *name);
void starpu_execute_on_specific_workers(void (*func)(void*), void *arg, unsigned num_workers, unsigned *workers,
    const char *name);
double starpu_timing_now(void);
int starpu_data_cpy(starpu_data_handle_t dst_handle, starpu_data_handle_t src_handle, int asynchronous, void
    (*callback_func)(void*), void *callback_arg);

/* The value of a variable of the environment; the default, -1 for the first, where it is not set. */
static __starpu_inline int starpu_get_env_number_default(const char *str, int defval) {
  const char *text = starpu_getenv(str);
  char *end;
  long value;
  if (!text) return defval;
  value = strtol(text, &end, 10);
  STARPU_ASSERT_MSG(!*end, "%s must be an integer", str);
  STARPU_ASSERT_MSG(value >= 0, "%s cannot be negative", str);
  return (int)value;
}
static __starpu_inline int starpu_get_env_number(const char *str) {
  return starpu_get_env_number_default(str, -1);
}
static __starpu_inline float starpu_get_env_float_default(const char *str, float defval) {
  const char *text = starpu_getenv(str);
  char *end;
  float value;
  if (!text) return defval;
  value = strtof(text, &end);
  STARPU_ASSERT_MSG(!*end, "%s must be a number", str);
  return value;
}
#ifdef __cplusplus
}
#endif
#endif
