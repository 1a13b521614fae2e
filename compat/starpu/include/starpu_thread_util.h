/* starpu_thread_util.h: the calls of starpu_thread.h that end the program when they fail. */
#ifndef CONSORT_STARPU_THREAD_UTIL_H
#define CONSORT_STARPU_THREAD_UTIL_H
#include <errno.h>

#include <starpu_thread.h>

#define STARPU_PTHREAD_MUST_(call)                                        \
  do {                                                                    \
    const int starpu_rc_ = (call);                                        \
    if (STARPU_UNLIKELY(starpu_rc_)) STARPU_ABORT_MSG("%s: %s", #call, strerror(starpu_rc_)); \
  } while (0)
/* Those that may find their object taken answer with the code. */
#define STARPU_PTHREAD_TRY_(call)                                         \
  __extension__({                                                         \
    const int starpu_rc_ = (call);                                        \
    if (STARPU_UNLIKELY(starpu_rc_ && starpu_rc_ != EBUSY && starpu_rc_ != ETIMEDOUT)) \
      STARPU_ABORT_MSG("%s: %s", #call, strerror(starpu_rc_));            \
    starpu_rc_;                                                           \
  })
#define STARPU_PTHREAD_CREATE_ON(name, thread, attr, routine, arg, where) \
  STARPU_PTHREAD_MUST_(starpu_pthread_create_on(name, thread, attr, routine, arg, where))
#define STARPU_PTHREAD_CREATE(thread, attr, routine, arg) STARPU_PTHREAD_MUST_(starpu_pthread_create(thread, attr, routine, arg))
#define STARPU_PTHREAD_JOIN(thread, retval) STARPU_PTHREAD_MUST_(starpu_pthread_join(thread, retval))
#define STARPU_PTHREAD_MUTEX_INIT(mutex, attr) STARPU_PTHREAD_MUST_(starpu_pthread_mutex_init(mutex, attr))
#define STARPU_PTHREAD_MUTEX_DESTROY(mutex) STARPU_PTHREAD_MUST_(starpu_pthread_mutex_destroy(mutex))
#define STARPU_PTHREAD_MUTEX_LOCK(mutex) STARPU_PTHREAD_MUST_(starpu_pthread_mutex_lock(mutex))
#define STARPU_PTHREAD_MUTEX_UNLOCK(mutex) STARPU_PTHREAD_MUST_(starpu_pthread_mutex_unlock(mutex))
#define STARPU_PTHREAD_KEY_CREATE(key, destr) STARPU_PTHREAD_MUST_(starpu_pthread_key_create(key, destr))
#define STARPU_PTHREAD_KEY_DELETE(key) STARPU_PTHREAD_MUST_(starpu_pthread_key_delete(key))
#define STARPU_PTHREAD_SETSPECIFIC(key, ptr) STARPU_PTHREAD_MUST_(starpu_pthread_setspecific(key, ptr))
#define STARPU_PTHREAD_RWLOCK_INIT(rwlock, attr) STARPU_PTHREAD_MUST_(starpu_pthread_rwlock_init(rwlock, attr))
#define STARPU_PTHREAD_RWLOCK_DESTROY(rwlock) STARPU_PTHREAD_MUST_(starpu_pthread_rwlock_destroy(rwlock))
#define STARPU_PTHREAD_RWLOCK_RDLOCK(rwlock) STARPU_PTHREAD_MUST_(starpu_pthread_rwlock_rdlock(rwlock))
#define STARPU_PTHREAD_RWLOCK_WRLOCK(rwlock) STARPU_PTHREAD_MUST_(starpu_pthread_rwlock_wrlock(rwlock))
#define STARPU_PTHREAD_RWLOCK_UNLOCK(rwlock) STARPU_PTHREAD_MUST_(starpu_pthread_rwlock_unlock(rwlock))
#define STARPU_PTHREAD_COND_INIT(cond, attr) STARPU_PTHREAD_MUST_(starpu_pthread_cond_init(cond, attr))
#define STARPU_PTHREAD_COND_DESTROY(cond) STARPU_PTHREAD_MUST_(starpu_pthread_cond_destroy(cond))
#define STARPU_PTHREAD_COND_SIGNAL(cond) STARPU_PTHREAD_MUST_(starpu_pthread_cond_signal(cond))
#define STARPU_PTHREAD_COND_BROADCAST(cond) STARPU_PTHREAD_MUST_(starpu_pthread_cond_broadcast(cond))
#define STARPU_PTHREAD_COND_WAIT(cond, mutex) STARPU_PTHREAD_MUST_(starpu_pthread_cond_wait(cond, mutex))
#define STARPU_PTHREAD_BARRIER_INIT(barrier, attr, count) STARPU_PTHREAD_MUST_(starpu_pthread_barrier_init(barrier, attr, count))
#define STARPU_PTHREAD_BARRIER_DESTROY(barrier) STARPU_PTHREAD_MUST_(starpu_pthread_barrier_destroy(barrier))
#define STARPU_PTHREAD_MUTEX_TRYLOCK(mutex) STARPU_PTHREAD_TRY_(starpu_pthread_mutex_trylock(mutex))
#define STARPU_PTHREAD_RWLOCK_TRYRDLOCK(rwlock) STARPU_PTHREAD_TRY_(starpu_pthread_rwlock_tryrdlock(rwlock))
#define STARPU_PTHREAD_RWLOCK_TRYWRLOCK(rwlock) STARPU_PTHREAD_TRY_(starpu_pthread_rwlock_trywrlock(rwlock))
#define STARPU_PTHREAD_COND_TIMEDWAIT(cond, mutex, abstime) STARPU_PTHREAD_TRY_(starpu_pthread_cond_timedwait(cond, mutex, abstime))
#define STARPU_PTHREAD_GETSPECIFIC(key) starpu_pthread_getspecific(key)
#define STARPU_PTHREAD_BARRIER_WAIT(barrier) ((void)starpu_pthread_barrier_wait(barrier))

#endif
