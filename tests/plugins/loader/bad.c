/* An interface plugin with one fault, chosen by FAULT_…: each is refused when it is loaded, naming the fault. */
#include <consort/interface.h>

__attribute__((unused)) static const consort_filter filters[1] = {{.name = "hollow"}};
__attribute__((unused)) static const consort_interface_ops ops = {
#if defined(FAULT_NO_FILTERS)
    .nfilters = 2,
#elif defined(FAULT_MANY_FILTERS)
    .filters = filters,
    .nfilters = 4097,
#elif defined(FAULT_HOLLOW_FILTER)
    .filters = filters,
    .nfilters = 1,
#elif defined(FAULT_NO_CONVERSIONS)
    .nconversions = 3,
#endif
#if defined(FAULT_SMALL_OPS)
    .size = 24,
#elif defined(FAULT_HUGE_OPS)
    .size = 1u << 20,
#else
    .size = sizeof ops,
#endif
};
__attribute__((unused)) static const consort_param params[] = {
#if defined(FAULT_BAD_DEFAULT)
    {"depth", "u32", "2000", "1..1024", "its default is out of its range"}, {NULL, NULL, NULL, NULL, NULL}
#elif defined(FAULT_BAD_TYPE)
    {"depth", "colour", "red", NULL, "a type that this host does not know"}, {NULL, NULL, NULL, NULL, NULL}
#else
    {"depth", "u32", "1", NULL, "one"}, {"depth", "u32", "1", NULL, "the same again"}
#endif
};
__attribute__((unused)) static const consort_plugin plugin = {
#if defined(FAULT_SMALL_MANIFEST)
    .size = 16,
#else
    .size = sizeof plugin,
#endif
    .kind = CONSORT_KIND_INTERFACE,
    .abi_major = CONSORT_INTERFACE_MAJOR,
    .abi_minor = CONSORT_INTERFACE_MINOR,
#if defined(FAULT_OTHER_FLAGS)
    .flags = CONSORT_PF_VIRTUAL,
#endif
#if defined(FAULT_OTHER_NAME)
    .name = "somebody_else",
#else
    .name = NAME,
#endif
    .version = "0.1.0",
#if defined(FAULT_NO_PARAMS)
    .nparams = 3,
#elif defined(FAULT_TWICE)
    .params = params,
    .nparams = 2,
#else
    .params = params,
    .nparams = 1,
#endif
#if !defined(FAULT_NO_OPS)
    .ops = &ops,
#endif
};
#if defined(FAULT_NULL_PLUGIN)
#define GIVEN (*(const consort_plugin *)NULL)
#else
#define GIVEN plugin
#endif
CONSORT_MODULE(bad, INTERFACE, 0, NAME, "0.1.0", GIVEN);
