/* control.h — what a test tells the double of Level Zero, and asks it; looked up in the library by name. */
#ifndef CONSORT_TESTS_ZE_DOUBLE_CONTROL_H
#define CONSORT_TESTS_ZE_DOUBLE_CONTROL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ZE_DOUBLE_EXPORT __attribute__((visibility("default")))
/* NULL, or why not: words that it does not know, or objects that are alive. Violations are forgotten. */
ZE_DOUBLE_EXPORT const char *ze_double_configure(const char *settings);
/* How many there were; the words of them, a line each, as far as there is room. */
ZE_DOUBLE_EXPORT uint64_t ze_double_violations(char *words, size_t room);
ZE_DOUBLE_EXPORT uint64_t ze_double_live(void);     /* objects and blocks of memory */
ZE_DOUBLE_EXPORT uint64_t ze_double_commands(void); /* executed so far */
#ifdef __cplusplus
}
#endif
#endif
