/* The end of each plugin here: manifest, note, entry. NAME and FLAGS come from the build. */
#ifndef FLAGS
#define FLAGS 0
#endif
#define MAKE(K)                                                     \
  static const consort_plugin plugin = {.size = sizeof plugin,      \
                                        .kind = CONSORT_KIND_##K,   \
                                        .abi_major = CONSORT_##K##_MAJOR, \
                                        .abi_minor = CONSORT_##K##_MINOR, \
                                        .flags = FLAGS,             \
                                        .name = NAME,               \
                                        .version = "1.0.0",         \
                                        .ops = &ops};               \
  CONSORT_MODULE(skew, K, FLAGS, NAME, "1.0.0", plugin);
