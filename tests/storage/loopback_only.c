/* Preloaded into a process, refuses every connection to another machine and appends its address to $REACHED. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int refused(const struct sockaddr *address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address == NULL) return 0;
    if (address->sa_family == AF_INET) {
        const struct in_addr *host = &((const struct sockaddr_in *)address)->sin_addr;
        if ((ntohl(host->s_addr) >> 24) == 127 || host->s_addr == 0) return 0;
        inet_ntop(AF_INET, host, text, sizeof text);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *host = &((const struct sockaddr_in6 *)address)->sin6_addr;
        if (IN6_IS_ADDR_LOOPBACK(host) || IN6_IS_ADDR_UNSPECIFIED(host)) return 0;
        if (IN6_IS_ADDR_V4MAPPED(host) && host->s6_addr[12] == 127) return 0;
        inet_ntop(AF_INET6, host, text, sizeof text);
    } else {
        return 0;
    }
    const char *name = getenv("REACHED");
    FILE *log = name == NULL ? NULL : fopen(name, "a");
    if (log != NULL) {
        fprintf(log, "%s\n", text);
        fclose(log);
    }
    errno = ENETUNREACH;
    return 1;
}

int connect(int file, const struct sockaddr *address, socklen_t length) {
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "connect");
    return refused(address) ? -1 : real(file, address, length);
}

ssize_t sendto(int file, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
    static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "sendto");
    return refused(address) ? -1 : real(file, data, size, flags, address, length);
}
