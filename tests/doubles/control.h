/* What a test in the same process may ask of a test double of a vendor's library. Each double exports these functions;
 * get them with dlsym from the handle of the double that is meant. All may be called from any thread. */
#ifndef CONSORT_TESTS_DOUBLES_CONTROL_H
#define CONSORT_TESTS_DOUBLES_CONTROL_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the place of CONSORT_DOUBLE (see README.md) and forgets violations, counts and lost devices. Only while no
 * context is alive. 0, or -1 with one line on stderr; the settings are then as they were. */
int double_set(const char *text);

/* This device is lost at once: what is under way ends without effect, each later call answers 999. */
void double_lose(int device);

/* How many violations of the rules there were since the last double_set. */
int double_violations(void);

/* The different ones in words, a line each, cut at size; answers the length that all of it has (as snprintf does). */
size_t double_report(char *text, size_t size);

/* Objects alive: contexts, streams, events, modules, device blocks, pinned or registered host blocks, pools, graphs. */
size_t double_live(void);

/* Operations that devices have executed (kernels, copies, fills) since the last double_set. */
size_t double_operations(void);

/* Graphs launched since the last double_set: what they execute is counted as operations, too. */
size_t double_graph_launches(void);

#ifdef __cplusplus
}
#endif
#endif
