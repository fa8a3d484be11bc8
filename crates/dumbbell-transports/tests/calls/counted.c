/* Counts calls for the time and for random numbers, for a process that is started with this library preloaded. At its
 * end, the counts are appended to the file that the environment names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>

static long clocks, draws;

#define NEXT(result, name, ...) ((result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

int clock_gettime(clockid_t clock, struct timespec *at) {
    clocks++;
    return NEXT(int, "clock_gettime", clockid_t, struct timespec *)(clock, at);
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    clocks++;
    return NEXT(int, "gettimeofday", struct timeval *, void *)(at, zone);
}

time_t time(time_t *at) {
    clocks++;
    return NEXT(time_t, "time", time_t *)(at);
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags) {
    draws++;
    return NEXT(ssize_t, "getrandom", void *, size_t, unsigned)(bytes, length, flags);
}

int getentropy(void *bytes, size_t length) {
    draws++;
    return NEXT(int, "getentropy", void *, size_t)(bytes, length);
}

long syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_getrandom)
        draws++;
    if (number == SYS_clock_gettime)
        clocks++;
    return NEXT(long, "syscall", long, long, long, long, long, long, long)(number, a, b, c, d, e, f);
}

int open64(const char *path, int flags, int mode) {
    if (path[0] == '/' && path[1] == 'd' && path[2] == 'e' && path[3] == 'v')
        draws++;
    return NEXT(int, "open64", const char *, int, int)(path, flags, mode);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("COUNTED_CALLS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld %ld", clocks, draws);
        fclose(file);
    }
}
