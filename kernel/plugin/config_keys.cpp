#include "plugin/config_keys.hpp"

#include <consort/defaults.h>

namespace consort {
namespace {

constexpr consort_param keys[] = {
    {"scheduler", "string", CONSORT_DEFAULT_SCHEDULER, nullptr, "the policy: where ready tasks wait"},
    {"drivers", "list", CONSORT_DEFAULT_DRIVERS, nullptr,
     "device drivers to start: names, * for all that need not be named, ^name for all but that"},
    {"workers", "u32", "0", "0..4096",
     "for every driver that has a parameter of this name and is not told otherwise; 0: each as it likes"},
    {"plugins", "list", "", nullptr,
     "selection: of a named plugin's kind only those named; ^name never; +/path/x.so this file too, before others"},
    {"plugin_path", "string", "", nullptr, "folders searched before the library's own, with : between"},
    {"window", "u32", "2048", "0..1048576",
     "pending tasks at which a submitter helps instead of adding more; 0: no limit"},
    {"bypass", "u32", "32", "0..1024", "released successors that a worker runs in place, one after the other"},
    {"spin_us", "u32", "100", "0..1000000", "how long a worker looks for work before it sleeps, microseconds"},
    {"pump", "string", "threads", "threads|manual", "what steps the workers: threads of the runtime, or the caller"},
    {"time", "string", "real", "real|virtual",
     "virtual: for machines that are all simulated, a clock that goes from event to event while a thread waits"},
    {"seed", "u64", "1", nullptr,
     "of every choice by chance, also of plugins that have this parameter: the same seed, the same run"},
    {"profile", "bool", "false", nullptr, "measure each task: reads the clock twice a task"},
    {"trace", "string", "", nullptr,
     "file for what ran where and when, written at the stop; %p in it: the process; consort trace show draws it"},
    {"trace_events", "u32", "65536", "1..16777216", "the last so many runs of each worker, copies and decisions are traced"},
    {"trace_graph", "bool", "false", nullptr,
     "the trace also says what each task uses and comes after, and what models know of its kind; slows submission"},
    {"reports", "list", "", nullptr,
     "plugins that say something about the run when the runtime stops; consort plugins lists them"},
    {"layers", "list", "", nullptr,
     "plugins through which every call of a driver, scheduler, interface or transport goes, the first outermost; none: no "
     "cost; consort plugins lists them"},
    {"detect_repeats", "bool", "false", nullptr,
     "tell when a thread submits the same sequence again and again between waits for everything; slows submission"},
    {"core_conflict", "string", "share", "share|refuse",
     "when another runtime of this process has a core: share it, or refuse to start"},
    {"limits", "list", "", nullptr,
     "how much of a memory space to use: NAME=64M or NAME=50%; consort topo names the spaces"},
    {"save_ahead", "u32", "10", "0..100",
     "percent of a limited memory that is kept free, or free to be dropped, by saving contents while their way is idle; "
     "0: they are saved when room is needed"},
    {"links", "string", "auto", "auto|told|stored|measure|again",
     "figures of links: told by the drivers; measured before and stored; measure what is not stored, or all "
     "again; auto: stored, and with a manual pump told"},
    {"models", "string", "auto", "auto|given|all",
     "what tasks take is measured: of codelets that were given a model, and of all once the scheduler asks (auto); never "
     "of others; of all from the start"},
    {"calibrate", "string", "demand", "demand|force|drop|off",
     "what tasks take: tried where it is not known yet (demand); measured again, whatever is stored (force), which is "
     "not even read (drop); not measured (off)"},
    {"keep_models", "string", "auto", "auto|yes|no",
     "what tasks take is kept in files from run to run; auto: yes, and with a manual pump no"},
    {"model_folder", "string", "", nullptr, "where it is kept; empty: consort/models in the user's cache folder"},
    {"calibrate_samples", "u32", "10", "1..32",
     "measurements of one size, on one kind of unit, by one implementation, that make an estimate"},
    {"bind", "bool", "true", nullptr, "keep each worker's thread on its core"},
    {"teams", "string", "auto", nullptr,
     "workers that may work on one task together: as the hardware is built (auto); of 2, 3 … up to all, one task at a time "
     "(single); none (off); or their numbers, as 0-3;4-7"},
    {"team_arity", "u32", "2", "2..1024",
     "of how many smaller teams one is made at most: others are put between the sets that the hardware tells of"},
    {"check", "bool", "false", nullptr, "of older versions, does nothing: layers = \"checks\" watches thread tags"},
    {"log", "string", "warn", "error|warn|info|debug", "how much to say"},
};

}  // namespace

std::span<const consort_param> kernel_keys() noexcept { return keys; }

std::span<const OldKey> old_kernel_keys() noexcept {
  static constexpr OldKey old[] = {{"cores", "core_conflict", " (which cores to use is a key of the driver's own section)"}};
  return old;
}

}  // namespace consort
