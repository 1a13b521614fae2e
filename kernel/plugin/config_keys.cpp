#include "plugin/config_keys.hpp"

#include <consort/defaults.h>

namespace consort {
namespace {

constexpr consort_param keys[] = {
    {"scheduler", "string", CONSORT_DEFAULT_SCHEDULER, nullptr, "the policy: where ready tasks wait"},
    {"drivers", "list", CONSORT_DEFAULT_DRIVERS, nullptr,
     "device drivers to start: names; *: the cores and every device that is found; ^name: all except it"},
    {"device_root", "string", "", nullptr,
     "folder before the paths at which the drivers for * look for their devices (tests, containers); empty: none"},
    {"workers", "u32", "0", "0..4096",
     "default for every driver with a parameter of this name; 0: each driver's own default"},
    {"plugins", "list", "", nullptr,
     "selection: a name excludes other plugins of its kind; ^name: never; +/path/x.so: adds a file, before others"},
    {"plugin_path", "string", "", nullptr, "folders searched before the library's own, separated by :"},
    {"window", "u32", "2048", "0..1048576",
     "pending tasks at which a submitter helps instead of adding more; 0: no limit"},
    {"bypass", "u32", "32", "0..1024", "released successors that a worker runs in place, one after the other"},
    {"spin_us", "u32", "100", "0..1000000", "microseconds that a worker polls for work before it sleeps"},
    {"pump", "string", "threads", "threads|manual", "what steps the workers: threads of the runtime, or the caller"},
    {"time", "string", "real", "real|virtual",
     "virtual: for simulated machines, a clock that advances from event to event while a thread waits"},
    {"seed", "u64", "1", nullptr,
     "seed of all random choices, also of plugins with this parameter: the same seed, the same run"},
    {"profile", "bool", "false", nullptr, "measure each task: reads the clock twice a task"},
    {"trace", "string", "", nullptr,
     "file for a trace of runs and copies; %p in it: the process, %r: the rank; consort trace show draws it"},
    {"trace_mode", "string", "stream", "stream|keep",
     "a trace is written while the runtime runs (stream), or its last events stay in memory until the stop (keep)"},
    {"trace_events", "u32", "65536", "1..16777216",
     "limit of runs of each worker, of copies and of decisions that stay in memory: trace_mode = \"keep\", and reports"},
    {"trace_only", "list", "", nullptr,
     "what a trace has at first: tasks, copies, decisions, waits, memory, graph, nothing; empty: all"},
    {"trace_buffer", "u32", "1024", "4..1048576", "KiB in which each thread keeps events until they are written"},
    {"trace_graph", "bool", "false", nullptr,
     "the trace also has each task's data, predecessors and estimates; slows submission"},
    {"watchdog", "u32", "0", "0..1000000",
     "seconds without an end or a submission after which the log says what everything waits for; 0: never"},
    {"progress", "bool", "false", nullptr,
     "a line on the terminal with the tasks that are done, and about when all will be; none where standard error is a file"},
    {"reports", "list", "", nullptr,
     "plugins that report on the run when the runtime stops; consort plugins lists them"},
    {"layers", "list", "", nullptr,
     "plugins around every call of a driver, scheduler, interface or transport, the first outermost; none: no cost; "
     "consort plugins lists them"},
    {"check_access", "bool", "false", nullptr,
     "name the tasks that use data otherwise than they say, by the layer " CONSORT_DEFAULT_ACCESS_CHECK "; tasks become slower"},
    {"detect_repeats", "bool", "false", nullptr,
     "log when a thread repeats a sequence of submissions between waits for everything; slows submission"},
    {"core_conflict", "string", "share", "share|refuse",
     "a core used by another runtime of this process: share it, or refuse to start"},
    {"limits", "list", "", nullptr,
     "limits of memory spaces: NAME=64M or NAME=50%; consort topo lists the spaces"},
    {"save_ahead", "u32", "10", "0..100",
     "percent of a limited memory kept free, or droppable at once, by saving contents while their link is idle; "
     "0: contents are saved when memory is needed"},
    {"links", "string", "auto", "auto|told|stored|measure|again",
     "figures of links: told by the drivers; measured before and stored; measure what is not stored, or all "
     "again; auto: stored, and with a manual pump told"},
    {"models", "string", "auto", "auto|given|all",
     "tasks whose times are measured: of codelets with a model, and of all once the scheduler asks (auto); only of "
     "codelets with a model (given); of all from the start (all)"},
    {"calibrate", "string", "demand", "demand|force|drop|off",
     "times of tasks: sampled where unknown (demand); measured again before stored ones are used (force); measured "
     "without reading stored ones (drop); not measured (off)"},
    {"keep_models", "string", "auto", "auto|yes|no",
     "store measured times in files between runs; auto: yes, with a manual pump no"},
    {"model_folder", "string", "", nullptr, "folder of stored times; empty: consort/models in the user's cache folder"},
    {"calibrate_samples", "u32", "10", "1..32",
     "measurements needed for an estimate, for one size, kind of unit and implementation"},
    {"bind", "bool", "true", nullptr, "keep each worker's thread on its core"},
    {"device_cores", "bool", "false", nullptr,
     "for each unit of a device, one core runs no tasks and is that of the unit's thread; one core at least runs tasks"},
    {"teams", "string", "auto", nullptr,
     "workers that may run one task together: by the hardware (auto); the first 2, 3 … up to all, one task at a time "
     "(single); none (off); or lists of numbers, 0-3;4-7"},
    {"team_arity", "u32", "2", "2..1024",
     "limit of smaller teams in a team: intermediate teams are added between the sets of the hardware"},
    {"transport", "string", CONSORT_DEFAULT_TRANSPORT, nullptr, "the transport between the ranks of a job"},
    {"rank", "u32", "0", nullptr, "number of this process in its job; set by consort run"},
    {"ranks", "u32", "1", "1..4096", "processes of the job; set by consort run"},
    {"ranks_here", "u32", "0", "0..4096",
     "ranks of the job that are threads of this process, in a program with consort_rank_main(); set by consort sim"},
    {"rendezvous", "string", "", nullptr, "private folder where the ranks of a job meet; set by consort run"},
    {"join_seconds", "u32", "30", "1..86400", "time in which all ranks must have joined their job"},
    {"checkpoint", "string", "", nullptr, "folder of the checkpoints of a job, which all ranks share; set by consort run"},
    {"checkpoint_driver", "string", CONSORT_DEFAULT_FILES, nullptr, "driver that keeps the files of checkpoints"},
    {"check", "bool", "false", nullptr, "obsolete, without effect: layers = \"checks\" checks thread tags"},
    {"log", "string", "warn", "error|warn|info|debug", "least severity of log messages"},
};

}  // namespace

std::span<const consort_param> kernel_keys() noexcept { return keys; }

std::span<const OldKey> old_kernel_keys() noexcept {
  static constexpr OldKey old[] = {{"cores", "core_conflict", " (which cores to use is a key of the driver's own section)"}};
  return old;
}

}  // namespace consort
