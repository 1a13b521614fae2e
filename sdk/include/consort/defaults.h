/* consort/defaults.h — what a runtime takes where nobody said anything. Names of plugins stand here and not in the
 * kernel, which knows none; a site that builds its own SDK may define others first. */
#ifndef CONSORT_DEFAULTS_H
#define CONSORT_DEFAULTS_H

#ifndef CONSORT_DEFAULT_SCHEDULER
#define CONSORT_DEFAULT_SCHEDULER "lws"
#endif
#ifndef CONSORT_DEFAULT_DRIVERS
#define CONSORT_DEFAULT_DRIVERS "*" /* all that start */
#endif

#endif
