/* A file layer that fails on purpose: preloaded into a program, it counts what the program does with files of one folder, and
 * lets one of these operations fail. Built and used by .ci/failing-files.
 *
 *   FAILING_FOLDER  whose files are meant, as an absolute path; all others, pipes and terminals are left alone
 *   FAILING_AT      which operation fails, counted from 1; 0 for none
 *   FAILING_HOW     io      that operation fails with EIO
 *                   full    it and all later ones that need room fail with ENOSPC
 *                   short   a write stores half of its bytes and says so
 *                   torn    a write stores half of its bytes and says so; what follows fails with ENOSPC
 *                   killed  a write stores half of its bytes, anything else nothing, and the process is killed
 *                   closed  every operation that changes something fails with EROFS, whatever FAILING_AT says
 *   FAILING_MARK    a file that is made when something has failed
 *   CLOCK_SHIFT     seconds that are added to the time of the day
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum what { OPENS, READS, WRITES, SYNCS, NAMES, REMOVES };

static long count = 0;
static int full = 0;

static void mark(void) {
    const char *path = getenv("FAILING_MARK");
    if (path) {
        long file = syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_WRONLY, 0644);
        if (file >= 0) syscall(SYS_close, file);
    }
}

static int inside(const char *path) {
    const char *folder = getenv("FAILING_FOLDER");
    char whole[PATH_MAX];
    if (!folder || !path) return 0;
    if (path[0] != '/') {
        if (!getcwd(whole, sizeof whole)) return 0;
        size_t length = strlen(whole);
        snprintf(whole + length, sizeof whole - length, "/%s", path);
        path = whole;
    }
    return strncmp(path, folder, strlen(folder)) == 0 && path[strlen(folder)] == '/';
}

static int mine(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    /* Pipes and sockets have names that are no paths. */
    if (length <= 0 || path[0] != '/') return 0;
    path[length] = 0;
    return inside(path);
}

/* What an operation on a file of the folder has to do: 0 as usual, -1 fail (errno is set), 1 half of it, 2 half of it and die. */
static int verdict(enum what what) {
    int needs_room = what == OPENS || what == WRITES || what == SYNCS || what == NAMES;
    const char *how = getenv("FAILING_HOW"), *at = getenv("FAILING_AT");
    if (!how) return 0;
    if (strcmp(how, "closed") == 0) {
        if (what == READS || what == SYNCS) return 0;
        mark();
        errno = EROFS;
        return -1;
    }
    if (full && needs_room) {
        errno = ENOSPC;
        return -1;
    }
    if (__sync_add_and_fetch(&count, 1) != (at ? atol(at) : 0)) return 0;
    if (strcmp(how, "io") == 0) {
        mark();
        errno = EIO;
        return -1;
    }
    if (strcmp(how, "killed") == 0) {
        mark();
        return 2;
    }
    if (strcmp(how, "full") == 0) {
        mark();
        full = 1;
        if (!needs_room) return 0;
        errno = ENOSPC;
        return -1;
    }
    /* short, torn */
    mark();
    full = strcmp(how, "torn") == 0;
    return what == WRITES ? 1 : 0;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t size) {
    if (!mine(file)) return syscall(SYS_write, file, bytes, size);
    int told = verdict(WRITES);
    if (told < 0) return -1;
    if (told > 0) size = size > 1 ? size / 2 : size;
    ssize_t written = syscall(SYS_write, file, bytes, size);
    if (told == 2) die();
    return written;
}

ssize_t writev(int file, const struct iovec *parts, int number) {
    if (!mine(file)) return syscall(SYS_writev, file, parts, number);
    int told = verdict(WRITES);
    if (told < 0) return -1;
    ssize_t written = syscall(SYS_writev, file, parts, told > 0 ? 1 : number);
    if (told == 2) die();
    return written;
}

ssize_t read(int file, void *bytes, size_t size) {
    if (mine(file)) {
        int told = verdict(READS);
        if (told < 0) return -1;
        if (told == 2) die();
    }
    return syscall(SYS_read, file, bytes, size);
}

#define SIMPLE(kind, condition, call)  \
    if (condition) {                   \
        int told = verdict(kind);      \
        if (told < 0) return -1;       \
        if (told == 2) die();          \
    }                                  \
    return call

int fsync(int file) { SIMPLE(SYNCS, mine(file), syscall(SYS_fsync, file)); }
int fdatasync(int file) { SIMPLE(SYNCS, mine(file), syscall(SYS_fdatasync, file)); }
int ftruncate(int file, off_t size) { SIMPLE(REMOVES, mine(file), syscall(SYS_ftruncate, file, size)); }
int ftruncate64(int file, off64_t size) { SIMPLE(REMOVES, mine(file), syscall(SYS_ftruncate, file, size)); }
int rename(const char *from, const char *to) { SIMPLE(NAMES, inside(from) || inside(to), REAL(rename)(from, to)); }
int link(const char *from, const char *to) { SIMPLE(NAMES, inside(from) || inside(to), REAL(link)(from, to)); }
int unlink(const char *path) { SIMPLE(REMOVES, inside(path), REAL(unlink)(path)); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    SIMPLE(NAMES, inside(from) || inside(to), REAL(linkat)(a, from, b, to, flags));
}

static int opened(const char *path, int flags, mode_t mode) {
    int changes = flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC | O_APPEND);
    SIMPLE(changes ? OPENS : READS, inside(path), syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode));
}

#define MODE(flags)                         \
    mode_t mode = 0;                        \
    if (flags & (O_CREAT | O_TMPFILE)) {    \
        va_list rest;                       \
        va_start(rest, flags);              \
        mode = va_arg(rest, mode_t);        \
        va_end(rest);                       \
    }

int open(const char *path, int flags, ...) { MODE(flags) return opened(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(path, flags, mode); }

int clock_gettime(clockid_t clock, struct timespec *time) {
    int told = syscall(SYS_clock_gettime, clock, time);
    const char *shift = getenv("CLOCK_SHIFT");
    if (clock == CLOCK_REALTIME && shift && told == 0) time->tv_sec += atol(shift);
    return told;
}
