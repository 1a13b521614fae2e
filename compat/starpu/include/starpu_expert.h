/* starpu_expert.h */
#ifndef CONSORT_STARPU_EXPERT_H
#define CONSORT_STARPU_EXPERT_H
#ifdef __cplusplus
extern "C" {
#endif
void starpu_wake_all_blocked_workers(void);
#ifdef __cplusplus
}
#endif
#endif
