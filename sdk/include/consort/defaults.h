/* consort/defaults.h — defaults of settings that name plugins. They are defined here because the kernel names no plugin. A site that
 * builds its own SDK may define others first. */
#ifndef CONSORT_DEFAULTS_H
#define CONSORT_DEFAULTS_H

#ifndef CONSORT_DEFAULT_SCHEDULER
#define CONSORT_DEFAULT_SCHEDULER "auto"
#endif
#ifndef CONSORT_DEFAULT_DRIVERS
#define CONSORT_DEFAULT_DRIVERS "*" /* all that start */
#endif

#ifndef CONSORT_LAUNCHER_TRANSPORT
#define CONSORT_LAUNCHER_TRANSPORT "mpi" /* ranks that a launcher of MPI has started */
#endif
#ifndef CONSORT_LAUNCHER_VARIABLES /* numbers of ranks, in the environment of mpirun of Open MPI, of MPICH, and of srun */
#define CONSORT_LAUNCHER_VARIABLES "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"
#endif
#ifndef CONSORT_DEFAULT_TRANSPORT
#define CONSORT_DEFAULT_TRANSPORT "shm" /* ranks on one machine */
#endif
#ifndef CONSORT_DEFAULT_FILES
#define CONSORT_DEFAULT_FILES "disk_posix" /* files of checkpoints */
#endif
#ifndef CONSORT_DEFAULT_ACCESS_CHECK
#define CONSORT_DEFAULT_ACCESS_CHECK "access" /* the layer of the setting check_access */
#endif

#endif
