/* A small HTTP server that does one thing wrong: `server [SIN AMOUNT] [OPTION=NUMBER ...]`.
 *
 * Options: threads, processes, backlog, nodelay, cork, size (of the answer), buffer (SO_SNDBUF), keep (connections),
 * forgets (to close them), pieces (writes per answer), events (of each connection), slack_us, alarm_us (a signal each),
 * port. It serves 127.0.0.1, writes its log to standard output, and answers every request alike. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int threads = 1, processes = 1, backlog = 511, nodelay = 1, size = 512, buffer = 0, keep = 1, pieces = 1;
static int cork = 0, forgets = 0, interest = EPOLLIN, slack_us = 0, alarm_us = 0, port = 8080;
static int listener = -1, log_file = -1, epolls[64];
static long amount = 0;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *body;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void burn(long turns) {
    volatile unsigned number = 1;
    for (long turn = 0; turn < turns; turn++) number = number * 1664525u + 1013904223u;
}

static void pause_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static struct sockaddr_in address_of(int number) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(number)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* What is done wrong for each request. */

static void nothing(void) {}
static void compute(void) { burn(amount * 100); }

static void lock_and_compute(void) {
    pthread_mutex_lock(&lock);
    burn(amount * 100);
    pthread_mutex_unlock(&lock);
}

static void lock_and_sleep(void) {
    pthread_mutex_lock(&lock);
    pause_us(amount);
    pthread_mutex_unlock(&lock);
}

static void sleep_by_clock(void) { pause_us(amount); }

static void write_log(void) {
    static const char line[512] = "GET / 200";
    for (long count = 0; count < amount; count++)
        if (write(log_file < 0 ? 1 : log_file, line, sizeof line) < 0) continue;
}

static void touch_new_memory(void) {
    size_t bytes = amount * 4096;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
    munmap(memory, bytes);
}

static void map_and_forget(void) {
    for (long count = 0; count < amount; count++) {
        char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_READ) < 0) return;
    }
}

/* Volatile, so that the compiler does not leave it out. */
static char *volatile leaked;
static void leak(void) {
    leaked = malloc(amount * 1024);
    memset(leaked, 1, amount * 1024);
}

static void start_program(void) {
    int status;
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
}

static void *end_at_once(void *argument) { return argument; }

static void start_threads(void) {
    pthread_t thread;
    for (long count = 0; count < amount; count++)
        if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) pthread_join(thread, NULL);
}

/* Asks the server on the next port, and waits for the answer. */
static void ask(void) {
    static __thread int upstream = -1;
    char answer[4096];
    if (upstream < 0) {
        struct sockaddr_in address = address_of(port + 1);
        upstream = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(upstream, (void *)&address, sizeof address) < 0) fail("connect");
    }
    if (write(upstream, "GET / HTTP/1.1\r\n\r\n", 18) < 0 || read(upstream, answer, sizeof answer) < 0) return;
}

/* Opens one more connection to itself, and keeps it. */
static void connect_and_keep(void) {
    struct sockaddr_in address = address_of(port);
    int one = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect(one, (void *)&address, sizeof address) < 0 && errno != EINPROGRESS) close(one);
}

/* Asks for the address of a name. */
static void resolve(void) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo("backend.example.internal", "80", &hints, &found) == 0) freeaddrinfo(found);
}

/* Connects to the next port over IPv6, where nobody listens, and then over IPv4. */
static void connect_twice(void) {
    struct sockaddr_in6 first = {.sin6_family = AF_INET6, .sin6_port = htons(port + 1), .sin6_addr = in6addr_loopback};
    struct sockaddr_in second = address_of(port + 1);
    int one = socket(AF_INET6, SOCK_STREAM, 0), other = socket(AF_INET, SOCK_STREAM, 0);
    int fails = connect(one, (void *)&first, sizeof first) < 0;
    if (fails && connect(other, (void *)&second, sizeof second) < 0) perror("connect");
    close(one);
    close(other);
}

static void look_for_files(void) {
    for (long count = 0; count < amount; count++)
        if (access("/etc/missing/server.conf", R_OK) == 0) return;
}

static void ask_the_time(void) {
    struct timespec time;
    for (long count = 0; count < amount; count++) syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
}

static void read_bytes(void) {
    char byte;
    int file = open("/etc/passwd", O_RDONLY);
    for (long count = 0; count < amount && read(file, &byte, 1) == 1; count++) continue;
    close(file);
}

static void lock_file(void) {
    static int file = -1;
    if (file < 0) file = open("lock", O_RDWR | O_CREAT, 0644);
    flock(file, LOCK_EX);
    burn(amount * 100);
    flock(file, LOCK_UN);
}

static void write_at_once(void) {
    static int file = -1;
    if (file < 0) file = open("at-once", O_WRONLY | O_CREAT | O_APPEND | O_DSYNC, 0644);
    if (write(file, "GET / 200\n", 10) < 0) perror("log");
}

/* Tells each request to a log service. */
static void tell_service(void) {
    static int service = -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "service"};
    if (service < 0) service = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (sendto(service, "<134>GET / 200", 14, 0, (void *)&address, sizeof address) < 0) perror("service");
}

static void allocate(void) {
    char *volatile memory = malloc(amount * 1024);
    free(memory);
}

static const struct { const char *name; void (*commit)(void); } sins[] = {
    {"none", nothing}, {"compute", compute}, {"lock", lock_and_compute}, {"stuck", lock_and_sleep},
    {"sleep", sleep_by_clock}, {"log", write_log}, {"fault", touch_new_memory},
    {"map", map_and_forget}, {"leak", leak}, {"start", start_program}, {"thread", start_threads}, {"ask", ask},
    {"connect", connect_and_keep}, {"filter", nothing}, {"resolve", resolve}, {"connect-twice", connect_twice},
    {"look", look_for_files}, {"time", ask_the_time}, {"bytes", read_bytes}, {"lock-file", lock_file},
    {"sync", write_at_once}, {"tell", tell_service}, {"allocate", allocate},
};
static void (*commit)(void) = nothing;

/* A filter that looks at arguments, so that the kernel cannot know its answers beforehand. */
static void filter_calls(void) {
    static struct sock_filter filter[2000];
    int length = 0;
    for (long rule = 0; rule < amount; rule++) {
        unsigned at = offsetof(struct seccomp_data, args[0]) + 4;
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at);
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xdead0000u + rule, 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) fail("seccomp");
}

/* The server. */

static void write_whole(int connection, const char *bytes, int length) {
    while (length > 0) {
        int written = write(connection, bytes, length);
        if (written < 0 && errno != EAGAIN) return;
        if (written < 0) pause_us(200);
        bytes += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : written;
    }
}

static void answer(int connection) {
    char head[200];
    int length = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n", size,
                          keep ? "" : "Connection: close\r\n");
    commit();
    if (pieces == 1) {
        memcpy(body - length, head, length);
        write_whole(connection, body - length, length + size);
        return;
    }
    write_whole(connection, head, length);
    for (int piece = 1; piece < pieces; piece++) write_whole(connection, body, size / (pieces - 1));
}

/* The first thread accepts, and the threads get the connections in turn. */
static void accept_one(void) {
    static int next;
    int connection = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), yes = 1;
    if (connection < 0) return;
    if (nodelay) setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (cork) setsockopt(connection, IPPROTO_TCP, TCP_CORK, &yes, sizeof yes);
    if (buffer) setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    struct epoll_event event = {.events = interest, .data.fd = connection};
    epoll_ctl(epolls[next++ % threads], EPOLL_CTL_ADD, connection, &event);
}

static void serve(int epoll, int connection) {
    char request[8192];
    int length = read(connection, request, sizeof request);
    if (length < 0 && errno == EAGAIN) return;
    if (length > 0) answer(connection);
    if (length <= 0 && forgets) epoll_ctl(epoll, EPOLL_CTL_DEL, connection, NULL);
    else if (length <= 0 || !keep) close(connection);
}

static void *work(void *epoll) {
    struct epoll_event events[64];
    for (;;) {
        int count = epoll_wait(*(int *)epoll, events, 64, -1);
        for (int at = 0; at < count; at++) {
            if (events[at].data.fd == listener) accept_one();
            else serve(*(int *)epoll, events[at].data.fd);
        }
    }
    return epoll;
}

static void listen_here(void) {
    int yes = 1;
    struct sockaddr_in address = address_of(port);
    struct epoll_event event = {.events = EPOLLIN};
    event.data.fd = listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (processes > 1) setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    if (bind(listener, (void *)&address, sizeof address) < 0 || listen(listener, backlog) < 0) fail("listen");
    for (int at = 0; at < threads; at++) epolls[at] = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epolls[0], EPOLL_CTL_ADD, listener, &event);
}

static void take_option(const char *option) {
    static const struct { const char *name; int *value; } options[] = {
        {"threads=", &threads}, {"processes=", &processes}, {"backlog=", &backlog}, {"nodelay=", &nodelay},
        {"size=", &size}, {"buffer=", &buffer}, {"keep=", &keep}, {"pieces=", &pieces},
        {"slack_us=", &slack_us}, {"port=", &port}, {"cork=", &cork}, {"forgets=", &forgets}, {"events=", &interest},
        {"alarm_us=", &alarm_us},
    };
    for (size_t at = 0; at < sizeof options / sizeof *options; at++) {
        size_t length = strlen(options[at].name);
        if (strncmp(option, options[at].name, length) == 0) *options[at].value = atoi(option + length);
    }
    if (strncmp(option, "log=", 4) == 0) log_file = open(option + 4, O_WRONLY | O_CREAT | O_APPEND, 0644);
}

static void take_word(const char *word) {
    if (strchr(word, '=')) take_option(word);
    else if (*word >= '0' && *word <= '9') amount = atol(word);
    for (size_t at = 0; at < sizeof sins / sizeof *sins; at++)
        if (strcmp(sins[at].name, word) == 0) commit = sins[at].commit;
}

/* What a profiler does for each of its signals takes some microseconds, on every machine. */
static void on_alarm(int number) {
    (void)number;
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < 10000);
}

int main(int count, char **words) {
    signal(SIGPIPE, SIG_IGN);
    for (int at = 1; at < count; at++) take_word(words[at]);
    if (alarm_us) {
        struct itimerval often = {.it_interval.tv_usec = alarm_us, .it_value.tv_usec = alarm_us};
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    if (slack_us) prctl(PR_SET_TIMERSLACK, slack_us * 1000L);
    body = (char *)malloc(size + 4096) + 2048;
    memset(body, 'x', size);
    if (count > 1 && strcmp(words[1], "filter") == 0) filter_calls();
    int is_master = processes > 1;
    for (int at = 0; is_master && at < processes; at++)
        if (fork() == 0) {
            is_master = 0;
            // A test ends the master only.
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        }
    while (is_master) wait(NULL);
    listen_here();
    for (int at = 1; at < threads; at++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, &epolls[at]);
    }
    work(&epolls[0]);
}
